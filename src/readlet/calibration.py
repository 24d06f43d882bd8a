"""Confidence that means something: a temperature and a no-answer threshold, fitted and stored."""

from collections.abc import Callable, Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from scipy.optimize import minimize_scalar

Floats = NDArray[np.float64]
_BINS = 10
_RANGE = (0.25, 8.0)  # temperatures that are tried


class Calibration(BaseModel):
    """Stored with every reader as `calibration.json`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    temperature: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] = 1.0
    """Scores are divided by it before they become probabilities."""
    no_answer_threshold: Annotated[float, Field(ge=0.0, le=1.0)] = 0.5
    """Above this no-answer probability the reader says that there is no answer."""
    questions: int = 0
    """Held-out questions on which it was fitted."""
    error_before: float | None = None
    """Expected calibration error at temperature 1."""
    error_after: float | None = None
    """Expected calibration error at the fitted temperature."""


def fit_temperature(
    confidences: Callable[[float], Sequence[float]], correct: Sequence[float]
) -> float:
    """The temperature at which confidence best predicts whether the answer is right (log loss)."""
    truth = np.asarray(correct, np.float64)

    def log_loss(log_temperature: float) -> float:
        said = np.clip(confidences(float(np.exp(log_temperature))), 1e-6, 1 - 1e-6)
        return float(-np.mean(truth * np.log(said) + (1 - truth) * np.log1p(-said)))

    low, high = np.log(_RANGE)
    found = minimize_scalar(log_loss, bounds=(low, high), method="bounded")
    return float(np.exp(found.x))


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
