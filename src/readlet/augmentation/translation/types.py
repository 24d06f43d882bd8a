"""Input and output of translation engines: sentences, word alignments, failures, languages."""

import re
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
_PIVOT = "en"


def route_to(pair: LanguagePair, pairs: Collection[LanguagePair]) -> Route | None:
    """The pair itself, or two legs by way of a third language: English if possible, as in Argos."""
    if pair in pairs:
        return (pair,)
    between = {first.target for first in pairs if first.source == pair.source}
    between &= {second.source for second in pairs if second.target == pair.target}
    if not between:
        return None
    pivot = _PIVOT if _PIVOT in between else min(between)
    return LanguagePair(pair.source, pivot), LanguagePair(pivot, pair.target)


class Link(NamedTuple):
    """A word of a sentence and the word of its translation that is aligned with it."""

    source: Range
    target: Range


class Loss(StrEnum):
    """Why a translation is unusable."""

    EMPTY = "empty translation"
    REPEATED = "repeats itself without end"


class EngineError(ReadletError):
    """An engine died, hung, or gave an impossible result."""


@dataclass(frozen=True, slots=True)
class Translation:
    """The translation of one sentence, with word alignments if the engine has them."""

    text: str
    links: tuple[Link, ...] | None = None
    loss: Loss | None = None


class Translator(Protocol):
    """A translation engine: sentences in, as many translations out, in the same order."""

    name: str
    """The engine: `apertium`, `argos`, `ctranslate2`."""
    has_links: bool
    """Whether its translations come with word alignments."""

    def pairs(self) -> Collection[LanguagePair]:
        """The language pairs that it translates directly; `route_to` finds the pivots."""
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
    """A text and its translation. The white space between sentences is the same in both."""

    source: str
    text: str
    sentences: tuple[SentencePair, ...]  # in the order of the text

    @property
    def losses(self) -> tuple[Loss, ...]:
        """Why sentences of it are unusable; empty if all are fine."""
        return tuple(pair.loss for pair in self.sentences if pair.loss is not None)


def joined(
    text: str, parts: Sequence[Range], translations: Sequence[Translation]
) -> TranslatedText:
    """The translation of a text from those of its parts; what is between them stays."""
    pieces: list[str] = []
    pairs: list[SentencePair] = []
    length = last = 0
    for (start, end), made in zip(parts, translations, strict=True):
        pieces += [text[last:start], made.text]
        at = length + start - last
        length, last = at + len(made.text), end
        links = made.links and tuple(
            Link((a + start, b + start), (c + at, d + at)) for (a, b), (c, d) in made.links
        )
        pairs.append(SentencePair((start, end), (at, length), links, made.loss))
    return TranslatedText(text, "".join((*pieces, text[last:])), tuple(pairs))


# Three-letter codes, as Apertium uses them, to two-letter ones.
_SHORT = dict(
    word.split("=")
    for word in """
    afr=af ara=ar arg=an arb=ar ast=ast bel=be ben=bn bre=br bul=bg cat=ca ces=cs cym=cy dan=da
    deu=de ell=el eng=en epo=eo est=et eus=eu fas=fa fin=fi fra=fr gle=ga glg=gl heb=he hin=hi
    hrv=hr hun=hu hye=hy ind=id isl=is ita=it jpn=ja kat=ka kaz=kk kor=ko lav=lv lit=lt mkd=mk
    mlt=mt nld=nl nno=nn nob=nb oci=oc pes=fa pol=pl por=pt ron=ro rus=ru slk=sk slv=sl sme=se
    spa=es sqi=sq srd=sc srp=sr swe=sv swh=sw tam=ta tat=tt tha=th tur=tr ukr=uk urd=ur vie=vi
    zho=zh
    """.split()
)


def short_code(code: str) -> str:
    """The two-letter code, if there is one: `eng` is `en`."""
    return _SHORT.get(code, code)


# The same piece six times in a row. Dots, rules and zeros repeat in good texts too, for fewer
# characters than `_SHORTEST`, or in the source too.
_REPEATED = re.compile(r"(.{1,80}?)\1{5,}", re.DOTALL)
_SHORTEST = 20


def loss_of(source: str, translation: str) -> Loss | None:
    """Why a translation is unusable; None if it is fine."""
    if not translation.strip():
        return Loss.EMPTY if source.strip() else None
    longest = _longest_repetition(translation)
    if longest >= _SHORTEST and longest > 2 * _longest_repetition(source):
        return Loss.REPEATED
    return None


def _longest_repetition(text: str) -> int:
    return max((len(found[0]) for found in _REPEATED.finditer(text)), default=0)
