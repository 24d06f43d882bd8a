"""What a translation engine takes and gives, and what the rest of the package sees of it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

from readlet.errors import ReadletError

Range = tuple[int, int]
"""Characters [start, end) of a text."""


class LanguagePair(NamedTuple):
    """Two language codes of ISO 639-1."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source}-{self.target}"


Route = tuple[LanguagePair, ...]
"""Translations one after another: (en-es,), or (en-es, es-en) for a translation and back."""


class Link(NamedTuple):
    """A word of a sentence and the word of its translation that it became."""

    source: Range
    target: Range


class Loss(StrEnum):
    """Why a translation is of no use."""

    EMPTY = "empty translation"
    REPEATED = "repeats itself without end"


class EngineError(ReadletError):
    """An engine died, hung, or gave an impossible result. A second attempt may succeed."""


@dataclass(frozen=True, slots=True)
class Translation:
    """The translation of one sentence; links between words if the engine has them."""

    text: str
    links: tuple[Link, ...] | None = None
    loss: Loss | None = None


class Translator(Protocol):
    """A translation engine: sentences in, as many translations out, in the same order."""

    @property
    def name(self) -> str:
        """The engine: `apertium`, `argos`, `ctranslate2`."""
        ...

    @property
    def has_links(self) -> bool:
        """Whether its translations come with links between words."""
        ...

    def pairs(self) -> Collection[LanguagePair]:
        """The language pairs that it translates directly; `routes.py` finds the pivots."""
        ...

    def version(self, pair: LanguagePair) -> str:
        """Model and version of a pair. Translations of one version are the same at any time."""
        ...

    def translate(self, sentences: Sequence[str], pair: LanguagePair) -> list[Translation]: ...


@dataclass(frozen=True, slots=True)
class SentencePair:
    """A sentence and its translation, each as characters of its own text."""

    source: Range
    target: Range
    links: tuple[Link, ...] | None = None  # in characters of the two texts
    loss: Loss | None = None


@dataclass(frozen=True, slots=True)
class TranslatedText:
    """A text and its translation. What stands between the sentences is the same in both."""

    source: str
    text: str
    sentences: tuple[SentencePair, ...]  # in the order of the text

    @property
    def losses(self) -> tuple[Loss, ...]:
        """Why sentences of it are of no use; empty if all are sound."""
        return tuple(pair.loss for pair in self.sentences if pair.loss is not None)
