"""Readlet: small reading-comprehension models that answer from a text, or abstain.

The public API is listed here and loaded on first use: importing the package costs
nothing, and inference needs no torch. All other modules are private, except for `readlet.compat`
and `readlet.cluster.columns`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Never

if TYPE_CHECKING:
    from readlet.augmentation.config import AugmentationConfig
    from readlet.augmentation.pipeline import augment_files
    from readlet.data.columns import DataFormat
    from readlet.data.datasets import read_examples, read_sentences
    from readlet.data.writing import write_examples
    from readlet.errors import ReadletError
    from readlet.inference.classifier import Classifier
    from readlet.inference.documents import Documents, Found
    from readlet.inference.evaluate_files import evaluate_questions
    from readlet.inference.inputs import AnswerOptions
    from readlet.inference.predict_file import predict_file
    from readlet.inference.publish import Published, publish
    from readlet.inference.reader import Reader
    from readlet.models.recipe_files import load_recipe
    from readlet.training.train import train_reader
    from readlet.types import Candidate, Classification, Example, Prediction, Sentence, Span

__version__ = "0.1.0"
__all__ = [
    "AnswerOptions",
    "AugmentationConfig",
    "Candidate",
    "Classification",
    "Classifier",
    "DataFormat",
    "Documents",
    "Example",
    "Found",
    "Prediction",
    "Published",
    "Reader",
    "ReadletError",
    "Sentence",
    "Span",
    "__version__",
    "augment_files",
    "evaluate_questions",
    "load_recipe",
    "predict_file",
    "publish",
    "read_examples",
    "read_sentences",
    "train_reader",
    "write_examples",
]
_MODULES = {
    "AnswerOptions": "inference.inputs",
    "AugmentationConfig": "augmentation.config",
    "Candidate": "types",
    "Classification": "types",
    "Classifier": "inference.classifier",
    "DataFormat": "data.columns",
    "Documents": "inference.documents",
    "Example": "types",
    "Found": "inference.documents",
    "Prediction": "types",
    "Published": "inference.publish",
    "Reader": "inference.reader",
    "ReadletError": "errors",
    "Sentence": "types",
    "Span": "types",
    "augment_files": "augmentation.pipeline",
    "evaluate_questions": "inference.evaluate_files",
    "load_recipe": "models.recipe_files",
    "predict_file": "inference.predict_file",
    "publish": "inference.publish",
    "read_examples": "data.datasets",
    "read_sentences": "data.datasets",
    "train_reader": "training.train",
    "write_examples": "data.writing",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'readlet' has no attribute {name!r}")
    from readlet.errors import MissingLibraryError

    try:
        return getattr(import_module(f"readlet.{_MODULES[name]}"), name)
    except MissingLibraryError as error:
        named = error.of(name)

    def call(*_: Any, **__: Any) -> Never:
        raise named

    return call  # `from readlet import *` works without the extras; only to call it is an error


def __dir__() -> list[str]:
    return sorted(__all__)
