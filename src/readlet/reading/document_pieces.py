"""Long documents in pieces that are found and read on their own, with their offsets."""

import re
from typing import NamedTuple

from readlet.text.words import SENTENCE_ENDS, word_spans

MAX_WORDS = 200
"""Of a piece: an ordinary paragraph, and well below the windows of readers."""

_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")


class Piece(NamedTuple):
    """document[start:end], and its words."""

    start: int
    end: int
    words: list[str]


def pieces(document: str) -> list[Piece]:
    """The document in pieces of at most MAX_WORDS words, which together hold every word.

    A document that is short enough is one piece. A longer one is cut between paragraphs where
    possible, else between lines, else between sentences, else anywhere; no piece but the last is
    shorter than half of MAX_WORDS.
    """
    spans = word_spans(document)
    found = []
    first = 0
    while first < len(spans):
        last = first + MAX_WORDS
        if last < len(spans):
            cuts = range(last, first + MAX_WORDS // 2 - 1, -1)  # the latest of equals
            last = max(cuts, key=lambda cut: _strength(document, spans[cut - 1][1], spans[cut][0]))
        else:
            last = len(spans)
        inside = spans[first:last]
        words = [document[start:end] for start, end in inside]
        found.append(Piece(inside[0][0], inside[-1][1], words))
        first = last
    return found


def _strength(document: str, end: int, start: int) -> int:
    """How well a document may be cut between two words, which end and start there."""
    if "\n" in document[end:start] and _BLANK_LINE.search(document, end, start):
        return 3
    if document[end - 1] not in SENTENCE_ENDS:
        return 0
    return 2 if "\n" in document[end:start] else 1
