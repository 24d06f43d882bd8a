"""Stage 4: the words of the translation that the answer's words became."""

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from readlet.augment.relocation.clues import WordRange
from readlet.augment.relocation.place import Place, WordLinks
from readlet.augment.relocation.similarity import similarities, weights
from readlet.encoding.words import words

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
