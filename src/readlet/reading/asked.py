"""What readers are asked: pairs of texts, or dicts as Hugging Face users write them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from readlet.errors import ReadletError

Asked = tuple[str, str] | Mapping[str, Any]
"""(question, context), or a dict with "question" and "context"; its other keys are ignored."""

MAX_PASSAGES = 10
"""Of many documents, the pieces that are read for a question by default.

With more, answers were not found more often, and more wrong ones were given.
"""

_REMEDY = 'give pairs (question, context) or dicts with "question" and "context"'


def as_pairs(asked: Iterable[Asked]) -> Iterator[tuple[str, str]]:
    """Pairs (question, context), one at a time; anything else is an error."""
    if isinstance(asked, (str, Mapping)) or not isinstance(asked, Iterable):
        raise ReadletError(f"answer_batch: a single {_kind(asked)}, not a list; {_REMEDY}")
    for number, item in enumerate(asked, 1):
        yield _pair(item, f"item {number}")


def _pair(item: Any, place: str) -> tuple[str, str]:
    if isinstance(item, Mapping):
        missing = [key for key in ("question", "context") if key not in item]
        if missing:
            raise ReadletError(f"{place}: a dict without {missing[0]!r}; {_REMEDY}")
        question, context = item["question"], item["context"]
    elif isinstance(item, (tuple, list)) and len(item) == 2:
        question, context = item
    else:
        size = f" of {len(item)}" if isinstance(item, (tuple, list)) else ""
        raise ReadletError(f"{place}: a {_kind(item)}{size}; {_REMEDY}")
    for name, text in (("question", question), ("context", context)):
        if not isinstance(text, str):
            raise ReadletError(f"{place}: its {name} is a {_kind(text)}, not text; {_REMEDY}")
    return question, context


def _kind(value: Any) -> str:
    return type(value).__name__
