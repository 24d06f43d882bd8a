"""How alike two words are, by their characters alone: for any language with an alphabet."""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

ALIKE = 0.7  # words that are less alike are different words
_HARDLY = 0.6
_STEM = 4  # letters; shorter words with a common beginning have little in common
_HEAVY = 8  # letters; longer words do not matter more


@lru_cache(maxsize=1 << 16)
def plain(word: str) -> str:
    """Without case and accents."""
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(sign for sign in decomposed if not unicodedata.combining(sign)) or word


@lru_cache(maxsize=1 << 16)
def bigrams(text: str) -> frozenset[str]:
    """The character 2-grams of a text, its borders included."""
    padded = f" {plain(text)} "
    return frozenset(padded[i : i + 2] for i in range(len(padded) - 1))


def bigram_score(one: str, other: str) -> float:
    """Dice coefficient of the 2-grams."""
    first, second = bigrams(one), bigrams(other)
    return 2 * len(first & second) / (len(first) + len(second))


@lru_cache(maxsize=1 << 18)
def word_similarity(one: str, other: str) -> float:
    """1 for words that are equal but for case and accents; 0 for those that are hardly alike.

    Words with the same stem are alike, whatever their endings; numbers are equal or not alike.
    """
    first, second = plain(one), plain(other)
    if first == second:
        return 1.0
    short, long = sorted((len(first), len(second)))
    if short < long * _HARDLY / 2 or not (first.isalpha() and second.isalpha()):
        return 0.0
    common = next((n for n in range(short) if first[n] != second[n]), short)
    stem = common / long if common >= _STEM else 0.0
    alike = max(stem, bigram_score(one, other))
    return alike if alike >= _HARDLY else 0.0


def similarities(some: Sequence[str], others: Sequence[str]) -> NDArray[np.float64]:
    """The likeness of each word to each of the others."""
    alike = [[word_similarity(one, other) for other in others] for one in some]
    return np.array(alike, dtype=float).reshape(len(some), len(others))  # (S, O)


def weights(words: Sequence[str]) -> NDArray[np.float64]:
    """How much a word says: its letters, since short words are often function words; more a number.

    Signs say next to nothing.
    """
    letters = [
        _HEAVY if any(sign.isnumeric() for sign in word) else sum(map(str.isalpha, word))
        for word in words
    ]
    return np.array(letters, dtype=float).clip(0.5, _HEAVY)  # (W,)


def text_similarity(some: Sequence[str], others: Sequence[str]) -> float:
    """F1 over letters of two lists of words, in any order: from 0 to 1."""
    alike = similarities(some, others)  # (S, O)
    alike[alike < ALIKE] = 0.0
    here, there = weights(some), weights(others)  # (S,), (O,)
    recall = float(alike.max(axis=1) @ here / here.sum())
    precision = float(alike.max(axis=0) @ there / there.sum())
    return 2 * recall * precision / (recall + precision) if recall and precision else 0.0
