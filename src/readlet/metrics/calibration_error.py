"""How well confidences match accuracies."""

from collections.abc import Sequence

import numpy as np

_BINS = 10


def expected_calibration_error(confidences: Sequence[float], correct: Sequence[float]) -> float:
    """Weighted mean gap between confidence and accuracy over ten bins of equal width."""
    # (items,) each
    predicted, actual = np.asarray(confidences, np.float64), np.asarray(correct, np.float64)
    if not len(predicted):
        return 0.0
    bins = np.minimum((predicted * _BINS).astype(int), _BINS - 1)  # (items,)
    error = 0.0
    for number in range(_BINS):
        members = bins == number  # (items,)
        if members.any():
            gap = abs(float(predicted[members].mean() - actual[members].mean()))
            error += float(members.mean()) * gap
    return error
