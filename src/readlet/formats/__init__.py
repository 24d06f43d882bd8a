"""Files to Examples and Sentences, and back."""

from readlet.formats.items import read
from readlet.formats.labelled import content_of, read_labelled, read_sentences
from readlet.formats.questions import read_examples, read_questions
from readlet.formats.sources import source_path
from readlet.formats.writing import write_examples

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
