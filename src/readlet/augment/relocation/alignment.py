"""Stage 4: the words of the translation that the answer's words became."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from readlet.augment.relocation.clues import WordRange
from readlet.augment.relocation.place import Place
from readlet.augment.relocation.similarity import similarities, weights
from readlet.encoding.words import words

_ALIKE = 0.6
_NEARNESS = 0.2  # how much the order of words counts beside their likeness
_CONSISTENT = 0.8
_UNLINKED = 0.1  # a word without a link costs this share of its letters inside an answer


Links = tuple[tuple[int, int], ...]
"""Pairs of a word of the source and the word of the translation that it became."""


def word_links(place: Place, translate: Callable[[str], str]) -> Links:
    """Those of the engine; without them, mutual nearest neighbours among the words."""
    return nearest_neighbours(place, translate) if place.links is None else place.links


def find_aligned(place: Place, links: Links) -> WordRange | None:
    """The run of words with the most letters linked to the answer, less those linked elsewhere.

    None if links cross its border: then the answer's words are scattered.
    """
    weight = weights(place.words)  # (T,)
    gain = -_UNLINKED * weight  # (T,)
    for source, target in links:
        gain[target] = weight[target] if source in place.asked else -weight[target]
    run = _best_run(gain)
    return run if run and is_consistent(run, place, links) else None


def is_consistent(found: WordRange, place: Place, links: Links) -> bool:
    """Links lead from the answer into the found words, and hardly any other crosses their border.

    So are phrases extracted in statistical translation. A word without a link says nothing.
    """
    weight = weights(place.words)  # (T,)
    within = crossing = 0.0
    for source, target in links:
        asked, inside = source in place.asked, found[0] <= target < found[1]
        if asked and inside:
            within += weight[target]
        elif asked or inside:
            crossing += weight[target]
    return within > 0 and within >= _CONSISTENT * (within + crossing)


def nearest_neighbours(place: Place, translate: Callable[[str], str]) -> Links:
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
