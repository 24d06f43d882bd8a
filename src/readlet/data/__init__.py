"""Files to Examples and Sentences, and back."""

from readlet.data.datasets import (
    content_of,
    read,
    read_examples,
    read_labelled,
    read_questions,
    read_sentences,
    source_path,
)
from readlet.data.writing import write_examples

__all__ = [
    "content_of",
    "read",
    "read_examples",
    "read_labelled",
    "read_questions",
    "read_sentences",
    "source_path",
    "write_examples",
]
