"""What tables (CSV and Parquet) store of examples: the same columns for every row."""

from collections.abc import Iterable, Iterator

from readlet.errors import ReadletError
from readlet.types import Example

HEADER = (
    "id",
    "question",
    "context",
    "answers",
    "is_impossible",
    "plausible_answers",
    "title",
    "language",
    "question_language",
)
LABELS = ("answers", "is_impossible")
"""The columns that a table of unlabelled questions omits."""


def storable(examples: Iterable[Example], what: str) -> Iterator[Example]:
    """The same examples; an error at the first one that a table cannot store as it is."""
    is_labelled = None
    for example in examples:
        if is_labelled is None:
            is_labelled = example.is_labelled
        if example.is_labelled != is_labelled:
            fault = f"{what} cannot store labelled and unlabelled questions in one file"
            raise ReadletError(f"question {example.id!r}: {fault}; write a .jsonl file")
        texts = (example.id, example.question, example.context, example.title)
        languages = (example.language, example.question_language)
        if not all(map(is_encodable, (*texts, *languages))):
            fault = f"it has an unpaired surrogate, which {what} cannot store"
            remedy = "remove it with `readlet data check --fix`, or write a .jsonl file"
            raise ReadletError(f"question {example.id!r}: {fault}; {remedy}")
        yield example


def is_encodable(text: str) -> bool:
    """Whether a text has no unpaired surrogate."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False
