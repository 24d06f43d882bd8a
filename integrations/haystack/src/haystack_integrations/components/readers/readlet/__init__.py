"""Readlet's readers for Haystack pipelines."""

from haystack_integrations.components.readers.readlet.reader import ReadletReader

__all__ = ["ReadletReader"]
