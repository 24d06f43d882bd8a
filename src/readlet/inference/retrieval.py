"""BM25 (Robertson and Zaragoza 2009): which texts share the rare words of a question.

Long documents in pieces that are found and read on their own, with their offsets.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from readlet.text.word_features import plain
from readlet.text.words import SENTENCE_ENDS, word_spans

_K1, _B = 1.2, 0.75  # saturation of repeated words, and how much long texts are discounted
_STEM = 6  # letters: "invented" and "inventor" are one term, in any language


class BM25:
    """An inverted index: for every term the texts that contain it, and how often."""

    def __init__(
        self, texts: Iterable[Sequence[str]], term_of: Callable[[str], str] | None = None
    ) -> None:
        """Texts are given as their words; they are read once, one at a time.

        `term_of` gives the term that a word is counted as, or an empty string.
        """
        self._term_of = term_of or _key
        self._forms: dict[str, int] = {}
        self._terms: dict[str, int] = {}
        numbers = [np.empty(0, np.int32), *map(self._numbers, texts)]
        lengths = np.array([len(terms) for terms in numbers[1:]], np.int64)  # (N,)
        relative = lengths / max(lengths.sum() / max(len(lengths), 1), 1.0)  # (N,)
        self._discount = _K1 * (1 - _B + _B * relative)  # (N,)
        count = max(len(lengths), 1)
        term = np.concatenate(numbers).astype(np.int64)  # (words,)
        text = np.repeat(np.arange(len(lengths)), lengths)  # (words,)
        pairs, self._counts = np.unique(term * count + text, return_counts=True)
        self._texts = pairs % count  # (postings,) sorted by term, then by text
        # (terms + 1,) the first posting of each term
        self._first = np.searchsorted(pairs, np.arange(len(self._terms) + 1) * count)

    def scores(self, asked: Sequence[str]) -> NDArray[np.float64]:
        """The score of every text for the words of a question; 0 for one that has none of them."""
        scores = np.zeros(len(self._discount))  # (N,)
        for term in self._distinct(asked):
            texts, counts = self._postings(term)
            rarity = self._rarity(len(texts))
            scores[texts] += rarity * counts * (_K1 + 1) / (counts + self._discount[texts])
        return scores

    def relevance(self, asked: Sequence[str]) -> NDArray[np.float64]:
        """The scores as shares of that of a text of mean length that has each word once.

        Words that no text has count too: a question about something else is not relevant to any.
        """
        best = sum(self._rarity(len(self._postings(term)[0])) for term in self._distinct(asked))
        return self.scores(asked) / max(best, 1e-9)

    def _distinct(self, asked: Sequence[str]) -> list[str]:
        return list(dict.fromkeys(term for word in asked if (term := self._term_of(word))))

    def _postings(self, term: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The texts that have a term, and how often: (n,) each."""
        number = self._terms.get(term)
        places = slice(0, 0) if number is None else slice(*self._first[number : number + 2])
        return self._texts[places], self._counts[places]

    def _rarity(self, texts: int) -> float:
        """The weight of a term that so many texts have."""
        return float(np.log1p((len(self._discount) - texts + 0.5) / (texts + 0.5)))

    def _numbers(self, text: Sequence[str]) -> NDArray[np.int32]:
        """The terms of a text; -1, a sign, is left out."""
        forms = self._forms
        found = [forms[word] if word in forms else self._number(word) for word in text]
        return np.array([number for number in found if number >= 0], np.int32)

    def _number(self, form: str) -> int:
        key = self._term_of(form)
        self._forms[form] = self._terms.setdefault(key, len(self._terms)) if key else -1
        return self._forms[form]


def _key(word: str) -> str:
    """The term that a word is counted as; empty for a sign."""
    return plain(word)[:_STEM] if word[0].isalnum() else ""


MAX_WORDS = 200
"""Of a piece: an ordinary paragraph, and well below the windows of readers."""

_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")


class Piece(NamedTuple):
    """document[start:end], and its words."""

    start: int
    end: int
    words: list[str]


def pieces(document: str, cuts: Sequence[int] = ()) -> list[Piece]:
    """The document in pieces of at most MAX_WORDS words, which together hold every word.

    It is cut at these characters, in order: rows of tables, which say nothing about each other. In
    between, what is short enough is one piece. What is longer is cut between paragraphs where
    possible, else between lines, else between sentences, else anywhere; no piece but the last is
    shorter than half of MAX_WORDS.
    """
    spans = word_spans(document)
    starts = [start for start, _ in spans]
    found = []
    first = 0
    for cut in (*cuts, len(document)):
        end = bisect_left(starts, cut)
        while first < end:
            last = first + MAX_WORDS
            if last < end:
                ways = range(last, first + MAX_WORDS // 2 - 1, -1)  # the latest of equals
                last = max(ways, key=lambda at: _strength(document, spans[at - 1][1], starts[at]))
            else:
                last = end
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
