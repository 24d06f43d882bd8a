"""How alike two words are, by their characters alone: for any language with an alphabet.

Stage 4: the words of the translation that the answer's words became.
"""

import unicodedata
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from readlet.augmentation.relocation.probe_texts import Place, WordLinks, WordRange
from readlet.text.words import words

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
    """1 for words that are equal except for case and accents; 0 for those that are hardly alike.

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


_NEARNESS = 0.2  # how much the order of words counts beside their likeness
_CONSISTENT = 0.8  # share of the letters whose links stay inside
_UNLINKED = 0.1  # a word without a link costs this share of its letters inside an answer


class Alignment:
    """Links between the words of an answer's sentences and those of their translation.

    They are the engine's; without them, mutual nearest neighbours among the words.
    """

    def __init__(self, place: Place, translate: Callable[[str], str]) -> None:
        self._place = place
        self._translate = translate
        self._weights = weights(place.words)  # (T,)

    @cached_property
    def links(self) -> WordLinks:
        engine = self._place.links
        return nearest_neighbours(self._place, self._translate) if engine is None else engine

    def find(self) -> WordRange | None:
        """The run of words with the most letters linked to the answer, less those linked elsewhere.

        None if links cross its border: then the answer's words are scattered.
        """
        votes = np.zeros(len(self._weights))  # (T,)
        for source, target in self.links:
            votes[target] += 1 if source in self._place.asked else -1
        gain = self._weights * np.where(votes == 0, -_UNLINKED, np.sign(votes))  # (T,)
        run = _best_run(gain)
        return run if run and self.is_consistent(run) else None

    def is_consistent(self, found: WordRange) -> bool:
        """Links lead from the answer into the found words, and hardly any crosses their border.

        So are phrases extracted in statistical translation. A word without a link says nothing.
        """
        within = crossing = 0.0
        for source, target in self.links:
            asked, inside = source in self._place.asked, found[0] <= target < found[1]
            if asked and inside:
                within += self._weights[target]
            elif asked or inside:
                crossing += self._weights[target]
        return within > 0 and within >= _CONSISTENT * (within + crossing)


def nearest_neighbours(place: Place, translate: Callable[[str], str]) -> WordLinks:
    """Pairs of words that are each other's best match.

    A word is compared as it is, as names and numbers are copied, and in its own translation.
    """
    there = place.words
    alike = np.zeros((len(place.source), len(there)))  # (S, T)
    for number, word in enumerate(place.source):
        forms = [word, *words(translate(word))]
        alike[number] = similarities(forms, there).max(axis=0)  # (T,)
    source = (np.arange(len(place.source)) + 0.5) / len(place.source)  # (S,)
    target = (np.arange(len(there)) + 0.5) / len(there)  # (T,)
    near = 1 - np.abs(source[:, None] - target[None, :])  # (S, T)
    score = np.where(alike > 0, alike + _NEARNESS * near, 0.0)  # (S, T)
    best_target, best_source = score.argmax(axis=1), score.argmax(axis=0)  # (S,), (T,)
    return tuple(
        (number, int(best))
        for number, best in enumerate(best_target)
        if score[number, best] > 0 and best_source[best] == number
    )


def _best_run(gain: NDArray[np.float64]) -> WordRange | None:
    """The run with the largest sum above 0: the earliest, then the shortest, of equal ones."""
    best, best_run = 0.0, None
    total, start = 0.0, 0
    for position, value in enumerate(gain):
        if total <= 0:
            total, start = 0.0, position
        total += float(value)
        if total > best:
            best, best_run = total, (start, position + 1)
    return best_run
