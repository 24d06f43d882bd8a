"""The ways to call the pipeline: what is asked, and whether one answer or a list is expected."""

from collections.abc import Iterator, Mapping
from typing import Any

from readlet.errors import ReadletError
from readlet.reading.asked import Asked, as_pairs

_REMEDY = "give question= and context=: two texts, a list and a text, or two lists"
Pairs = list[tuple[str, str]]


def pairs_of(args: tuple[Any, ...], question: Any, context: Any) -> Pairs | Iterator[Any]:
    """(question, context) pairs; an iterator of them if the call gives one.

    Besides `question` and `context` the forms of version 4: two texts, and dicts or objects with
    `question_text` and `context_text`, one, several or a list.
    """
    if not args:
        return _checked(_zipped(question, context))
    if question is not None or context is not None:
        raise ReadletError(f"both questions by position and by name; {_REMEDY}")
    if len(args) == 2 and all(isinstance(text, str) for text in args):
        return _checked([(args[0], args[1])])
    given = args[0] if len(args) == 1 else list(args)
    if isinstance(given, Iterator):
        return (_checked([_asked(item)])[0] for item in given)
    return _checked([_asked(item) for item in (given if isinstance(given, list) else [given])])


def _zipped(question: Any, context: Any) -> list[Asked]:
    if isinstance(question, str) and isinstance(context, str):
        return [(question, context)]
    if isinstance(question, list) and isinstance(context, str):
        return [(one, context) for one in question]
    if isinstance(question, list) and isinstance(context, list):
        if len(question) != len(context):
            counts = f"{len(question)} questions and {len(context)} contexts"
            raise ReadletError(f"{counts}; give as many of both")
        return list(zip(question, context, strict=True))
    kinds = f"question is a {type(question).__name__}, context a {type(context).__name__}"
    raise ReadletError(f"{kinds}; {_REMEDY}")


def _asked(item: Any) -> Asked:
    if hasattr(item, "question_text") and hasattr(item, "context_text"):  # as SquadExample has
        return item.question_text, item.context_text
    if not isinstance(item, Mapping):
        raise ReadletError(f"a {type(item).__name__} is asked; {_REMEDY}")
    return item


def _checked(asked: list[Asked]) -> Pairs:
    pairs = list(as_pairs(asked))
    for number, pair in enumerate(pairs, 1):
        for name, text in zip(("question", "context"), pair, strict=True):
            if not text:
                raise ReadletError(f"item {number}: its {name} is empty; give text")
    return pairs
