"""Masked scores in NumPy, like `nn/softmax.py` for tensors. True means keep.

The best spans of a row, in order: exact, without ranking all spans.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from readlet.models.family import Floats

NOTHING = -np.inf
"""The score of a place that may not be part of an answer: its probability is 0."""


def masked(scores: Floats, keep: NDArray[np.bool_]) -> Floats:
    """The scores that are kept; NOTHING elsewhere."""
    return np.where(keep, scores, np.float32(NOTHING))


def log_sums(scores: Floats, keep: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Log of the sum of exp over the kept places of each row, (B, L) -> (B,).

    NOTHING for a row that keeps none.
    """
    values = masked(scores, keep).astype(np.float64)  # (B, L)
    highest = values.max(axis=1, keepdims=True, initial=NOTHING)  # (B, 1)
    shifted = values - np.where(np.isfinite(highest), highest, 0.0)  # (B, L)
    with np.errstate(divide="ignore"):  # log(0) is NOTHING
        sums: NDArray[np.float64] = np.log(np.exp(shifted).sum(axis=1)) + highest[:, 0]
    return sums


_FIRST = 32  # spans ranked at first; most callers need only these


class PlaceSpan(NamedTuple):
    score: float
    first: int
    last: int


def spans_in_order(
    start: Floats, end: Floats, allowed: NDArray[np.bool_], max_places: int
) -> Iterator[PlaceSpan]:
    """Every span i <= j < i + max_places with allowed ends, by start[i] + end[j], best first.

    All three are (L,). Equal scores go to the earliest span, then to the shortest, whatever the
    padding. Only the band of `max_places` diagonals is computed.
    """
    places = int(allowed.nonzero()[0][-1]) + 1 if allowed.any() else 0
    if not places:
        return
    band = min(max_places, places)
    starts = masked(start[:places], allowed[:places])  # (L,)
    beyond = np.full(band - 1, NOTHING, np.float32)  # (K - 1,)
    reach = np.concatenate([masked(end[:places], allowed[:places]), beyond])  # (L + K - 1,)
    ends = sliding_window_view(reach, band)  # (L, K): row i has places i, i + 1, ...
    with np.errstate(invalid="ignore"):  # infinite scores of both signs
        scores = (starts[:, None] + ends).ravel()  # (L * K,) by first place, then by length
    scores = masked(scores, scores > NOTHING)  # (L * K,) a score of NaN is no score
    count = int((scores > NOTHING).sum())
    given, wanted = 0, _FIRST
    while given < count:
        wanted = min(wanted, count)
        lowest = np.partition(scores, -wanted)[-wanted]
        # Includes all ties with the last one, so that the order does not depend on the cut.
        chosen = np.flatnonzero(scores >= lowest)
        ranked = chosen[np.argsort(-scores[chosen], kind="stable")]
        for index in ranked[given:].tolist():
            first, length = divmod(index, band)
            yield PlaceSpan(float(scores[index]), first, first + length)
        given, wanted = len(ranked), 8 * wanted
