"""Whether confidence means what it says."""

from collections.abc import Sequence

import numpy as np

_BINS = 10


def expected_calibration_error(confidences: Sequence[float], correct: Sequence[float]) -> float:
    """Mean distance between confidence and accuracy over ten equally wide bins."""
    said, truth = np.asarray(confidences, np.float64), np.asarray(correct, np.float64)
    if not len(said):
        return 0.0
    bins = np.minimum((said * _BINS).astype(int), _BINS - 1)
    error = 0.0
    for number in range(_BINS):
        members = bins == number
        if members.any():
            gap = abs(float(said[members].mean() - truth[members].mean()))
            error += float(members.mean()) * gap
    return error
