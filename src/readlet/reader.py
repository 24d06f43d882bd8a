"""Readers by name. Whatever answers questions looks the same from outside."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from readlet.baseline import LexicalBaseline
from readlet.errors import ReadletError
from readlet.types import Prediction


class Answerer(Protocol):
    """What commands and pages need of a reader."""

    @property
    def name(self) -> str: ...

    def answer(self, question: str, context: str) -> Prediction: ...

    def answer_batch(self, pairs: Iterable[tuple[str, str]]) -> Iterator[Prediction]: ...


def load_reader(name: str) -> Answerer:
    """The reader of that name; `baseline` needs no training."""
    if name == "baseline":
        return LexicalBaseline()
    raise ReadletError(f"no reader {name!r}; use `baseline`")
