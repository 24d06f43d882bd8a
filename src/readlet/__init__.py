"""Readlet: train, compare, calibrate and serve small reading-comprehension models."""

from readlet.errors import ReadletError
from readlet.types import Example, Prediction, Sentence, Span

__version__ = "0.1.0"
__all__ = ["Example", "Prediction", "ReadletError", "Sentence", "Span", "__version__"]
