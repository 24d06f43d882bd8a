"""Confidence that means something: a temperature and a no-answer threshold, fitted and stored."""

from collections.abc import Callable, Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

Floats = NDArray[np.float64]
_RANGE = (0.25, 8.0)  # temperatures that are tried
_MIN_GAIN = 1e-3  # nats a question


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
    from scipy.optimize import minimize_scalar  # only training needs it, and it is slow to load

    truth = np.asarray(correct, np.float64)

    def log_loss(log_temperature: float) -> float:
        said = np.clip(confidences(float(np.exp(log_temperature))), 1e-6, 1 - 1e-6)
        return float(-np.mean(truth * np.log(said) + (1 - truth) * np.log1p(-said)))

    low, high = np.log(_RANGE)
    found = minimize_scalar(log_loss, bounds=(low, high), method="bounded")
    # A gain in the fourth digit is chance: then the scores are best left alone.
    return float(np.exp(found.x)) if log_loss(0.0) - found.fun > _MIN_GAIN else 1.0
