"""How well confidences match accuracies, in bins of confidence."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_BINS = 10


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """The predictions with a confidence from `low` to `high`."""

    low: float
    high: float
    predictions: int
    # Their mean confidence, and the share of them that is right.
    confidence: float
    accuracy: float


def reliability(confidences: Sequence[float], correct: Sequence[float]) -> list[ReliabilityBin]:
    """Ten bins of equal width; those without predictions are left out."""
    # (items,) each
    predicted, actual = np.asarray(confidences, np.float64), np.asarray(correct, np.float64)
    numbers = np.minimum((predicted * _BINS).astype(int), _BINS - 1)  # (items,)
    bins = []
    for number in range(_BINS):
        members = numbers == number  # (items,)
        if members.any():
            means = float(predicted[members].mean()), float(actual[members].mean())
            low, high = number / _BINS, (number + 1) / _BINS
            bins.append(ReliabilityBin(low, high, int(members.sum()), *means))
    return bins


def calibration_error(bins: Sequence[ReliabilityBin]) -> float:
    """Expected calibration error: the weighted mean gap between confidence and accuracy."""
    gaps = sum(bin.predictions * abs(bin.confidence - bin.accuracy) for bin in bins)
    return gaps / sum(bin.predictions for bin in bins) if bins else 0.0


def expected_calibration_error(confidences: Sequence[float], correct: Sequence[float]) -> float:
    """Weighted mean gap between confidence and accuracy over ten bins of equal width."""
    return calibration_error(reliability(confidences, correct))
