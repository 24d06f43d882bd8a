"""Readlet: train, compare, calibrate and slim small reading-comprehension models."""

from readlet.errors import ReadletError
from readlet.inference.classifier import Classifier
from readlet.inference.inputs import AnswerOptions
from readlet.inference.reader import Reader
from readlet.types import Candidate, Classification, Example, Prediction, Sentence, Span

__version__ = "0.1.0"
__all__ = [
    "AnswerOptions",
    "Candidate",
    "Classification",
    "Classifier",
    "Example",
    "Prediction",
    "Reader",
    "ReadletError",
    "Sentence",
    "Span",
    "__version__",
]
