"""Stage 4: the words of the translation that the answer's words became."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from readlet.augment.relocation.clues import WordRange
from readlet.augment.relocation.place import Place
from readlet.augment.relocation.similarity import similarities, weights
from readlet.encoding.words import words

_ALIKE = 0.5
_NEARNESS = 0.2  # how much the order of words counts beside their likeness
_UNLINKED = 0.1  # a word without a link costs this share of its letters inside an answer


def find_aligned(place: Place, translate: Callable[[str], str]) -> WordRange | None:
    """The run of words with the most letters linked to the answer, less those linked elsewhere.

    Links are the engine's; without them, mutual nearest neighbours among the words.
    """
    links = place.links
    if links is None:
        links = nearest_neighbours(place, translate)
    gain = -_UNLINKED * weights(place.words)  # (T,)
    weight = weights(place.words)  # (T,)
    for source, target in links:
        gain[target] = weight[target] if source in place.asked else -weight[target]
    return _best_run(gain)


def nearest_neighbours(
    place: Place, translate: Callable[[str], str]
) -> tuple[tuple[int, int], ...]:
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
    score = np.where(alike >= _ALIKE, alike + _NEARNESS * near, 0.0)  # (S, T)
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
