"""The parts of a passage: words, sentences, lines, paragraphs, cells of tables.

An answer is made of whole words of one part, at least one of them with a letter or digit. So
"EUR 1,140" is one, and neither "EU" nor "." nor two cells of a table are.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from readlet.text.words import word_spans

# Cells are separated by bars, tabs or wide gaps. A line ends a part, except for a line of running
# text that was broken at a certain width: it is long, and the next one goes on in lower case
# without a name of its own, as rows of tables have.
_CUT = re.compile(r"[ \t]*(?:\t|\||[ ]{2,}|(?P<line>\r?\n)\s*)[ \t]*")
_LONG = 40  # characters of a line
_FIELD = re.compile(r"[\w /()-]{1,40}: ")
_MOST = 600  # on each side of a span; anything longer is not a sentence, but a table or a log
_SENTENCE_ENDS = re.compile(r"[.!?…]['\"”’»)\]]*\s+|[。！？]")
# Punctuation that no answer begins or ends with; others, such as - or %, may belong to it.
_NOT_FIRST, _NOT_LAST = frozenset(",;:!?)]}"), frozenset(",;:([{")
_NAMED = re.compile(r"[^\W_]")

Places = NDArray[np.int32]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Outline:
    """Where the answers of a passage may begin and end, in characters; each in order."""

    starts: Numbers  # of words
    ends: Numbers
    named: Numbers  # the ends of those with a letter or digit
    parts: Numbers  # where a part begins, except for the first one

    def may_begin(self, places: Places) -> NDArray[np.bool_]:
        """Which of these positions, (P, 2), begin with a word: (P,)."""
        return _are_in(places[:, 0], self.starts)

    def may_end(self, places: Places) -> NDArray[np.bool_]:
        """Which of these positions, (P, 2), end with a word: (P,)."""
        return _are_in(places[:, 1], self.ends)

    def least_end(self, places: Places) -> Numbers:
        """Where the first word with a letter or digit ends, counted from each place: (P,)."""
        ends = np.append(self.named, np.iinfo(np.int64).max)
        return ends[np.searchsorted(self.named, places[:, 0], side="right")]

    def part_of(self, places: Places) -> Numbers:
        """The part number of each position in the passage: (P,)."""
        return np.searchsorted(self.parts, places[:, 0], side="right")


def _are_in(values: NDArray[Any], known: Numbers) -> NDArray[np.bool_]:
    if not len(known):
        return np.zeros(len(values), np.bool_)
    at = np.searchsorted(known, values)  # (P,)
    found: NDArray[np.bool_] = known[np.minimum(at, len(known) - 1)] == values
    return found


@lru_cache(maxsize=8)  # many questions share a passage
def outline(text: str) -> Outline:
    words = word_spans(text)
    return Outline(
        _numbers(start for start, _ in words if text[start] not in _NOT_FIRST),
        _numbers(end for _, end in words if text[end - 1] not in _NOT_LAST),
        _numbers(end for start, end in words if _NAMED.search(text, start, end)),
        _numbers(at for at, _ in _parts(text)),
    )


def _numbers(values: Iterable[int]) -> Numbers:
    return np.fromiter(values, np.int64)


def _parts(text: str) -> Iterator[tuple[int, bool]]:
    """The start of each part except the first, and whether that is on a new line."""
    for cut in _CUT.finditer(text):
        start, end = cut.span()
        is_line = cut["line"] is not None
        goes_on = (
            is_line
            and text.count("\n", start, end) == 1
            and start - text.rfind("\n", 0, start) > _LONG
            and text[end : end + 1].islower()
            and not _FIELD.match(text, end)
        )
        if not goes_on:
            yield end, is_line


def sentence_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Offsets of the span's sentence, or of its line of a list or table, without white space."""
    before, after = max(start - _MOST, 0), end + _MOST
    lines = [before + at for at, is_line in _parts(text[before:after]) if is_line]
    first = max((at for at in lines if at <= start), default=before)
    last = min((at for at in lines if at >= end), default=min(after, len(text)))
    ends = [found.end() for found in _SENTENCE_ENDS.finditer(text, first, last)]
    first = max((at for at in ends if at <= start), default=first)
    last = min((at for at in ends if at >= end), default=last)
    shown = text[first:last]
    return last - len(shown.lstrip()), first + len(shown.rstrip())


class Place(NamedTuple):
    """Where a span stands, for people."""

    line: int  # from 1
    sentence: str
    start: int  # of the sentence


def place_of(text: str, start: int, end: int) -> Place:
    first, last = sentence_span(text, start, end)
    return Place(text.count("\n", 0, start) + 1, text[first:last], first)
