"""Masked scores in NumPy, like `nn/softmax.py` for tensors. True means keep."""

import numpy as np
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
