"""Stages 2 and 3: the answer's own text, translated alone or as it was, among the words."""

from collections.abc import Sequence

import numpy as np

from readlet.augment.relocation.clues import WordRange
from readlet.augment.relocation.place import Place
from readlet.augment.relocation.similarity import ALIKE, similarities, weights
from readlet.encoding.words import words

_ENOUGH = 0.8  # F1 of the letters; chosen on half of the articles of XQuAD


def find_exact(place: Place, texts: Sequence[str]) -> WordRange | None:
    """The first of the texts that stands there word by word, case aside, nearest to its place."""
    there = [word.casefold() for word in place.words]
    for text in texts:
        wanted = [word.casefold() for word in words(text)]
        found = occurrences(there, wanted)
        if found:
            return min(found, key=place.distance)
    return None


def occurrences(there: Sequence[str], wanted: Sequence[str]) -> list[WordRange]:
    size = len(wanted)
    if not size:
        return []
    return [
        (start, start + size)
        for start in range(len(there) - size + 1)
        if there[start] == wanted[0] and there[start : start + size] == wanted
    ]


def find_inflected(place: Place, texts: Sequence[str]) -> WordRange | None:
    """The words that are most like those of a text, in any order and with other endings.

    The measure is F1 over letters: what of the answer is found, and what of the found words belongs
    to the answer.
    """
    best: tuple[float, float, WordRange] | None = None
    for text in texts:
        wanted = words(text)
        if not wanted:
            continue
        for score, found in _windows(place.words, wanted):
            candidate = (score, -place.distance(found), found)
            if score >= _ENOUGH and (best is None or candidate > best):
                best = candidate
    return best[2] if best else None


def _windows(there: Sequence[str], wanted: Sequence[str]) -> list[tuple[float, WordRange]]:
    """The best window from every word on that is like one of the answer's, with its F1."""
    alike = similarities(wanted, there)  # (W, T)
    alike[alike < ALIKE] = 0.0
    wanted_weights, there_weights = weights(wanted), weights(there)  # (W,), (T,)
    belongs = alike.max(axis=0) * there_weights  # (T,)
    longest = 2 * len(wanted) + 2
    windows: list[tuple[float, WordRange]] = []
    for start in np.flatnonzero(belongs):
        end = min(len(there), start + longest)
        found = np.maximum.accumulate(alike[:, start:end], axis=1)  # (W, E)
        recall = wanted_weights @ found / wanted_weights.sum()  # (E,)
        precision = belongs[start:end].cumsum() / there_weights[start:end].cumsum()  # (E,)
        f1 = 2 * recall * precision / (recall + precision)  # (E,)
        length = int(f1.argmax()) + 1
        windows.append((float(f1[length - 1]), (int(start), int(start) + length)))
    return windows
