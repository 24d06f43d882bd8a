"""What other libraries had and programs were built on, with the same arguments and results."""

from readlet.compat.pipelines import pipeline

__all__ = ["pipeline"]
