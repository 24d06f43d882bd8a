"""APIs that other libraries have removed, with the same arguments and results."""

from readlet.compat.pipelines import pipeline

__all__ = ["pipeline"]
