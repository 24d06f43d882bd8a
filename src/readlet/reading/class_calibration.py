"""From scores of classes to probabilities: a temperature, fitted on held-out texts."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from readlet.evaluation.calibration_error import expected_calibration_error
from readlet.models.family import Floats
from readlet.reading.calibration import fit_temperature

# With fewer texts the fit would be noise: the default is better.
MIN_TEXTS = 30
TOO_FEW = f"fewer than {MIN_TEXTS} texts"


class ClassCalibration(BaseModel):
    """Stored with every classifier as `calibration.json`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    temperature: Annotated[float, Field(ge=1e-3, le=1e3)] = 1.0
    """Scores of classes are divided by it before they become probabilities."""
    texts: Annotated[int, Field(ge=0)] = 0
    """Held-out texts on which it was fitted."""
    error_before: float | None = None
    """Expected calibration error of the predicted classes on them, at temperature 1."""
    error_after: float | None = None
    """The same with the fitted temperature."""

    def probabilities(self, scores: Floats) -> NDArray[np.float64]:
        """Scores (B, C) -> probabilities (B, C)."""
        scaled = scores.astype(np.float64) / self.temperature  # (B, C)
        exponentials = np.exp(scaled - scaled.max(axis=1, keepdims=True))  # (B, C)
        shares: NDArray[np.float64] = exponentials / exponentials.sum(axis=1, keepdims=True)
        return shares


def fit_class_calibration(
    scores: Floats, labels: Sequence[int], default: ClassCalibration
) -> ClassCalibration:
    """The temperature at which the labels are likeliest; with too few texts that of `default`."""
    if len(labels) < MIN_TEXTS:
        kept = {"texts": 0, "error_before": None, "error_after": None}
        return default.model_copy(update=kept)
    gold = np.asarray(labels)  # (texts,)

    def of_labels(temperature: float) -> list[float]:
        found = ClassCalibration(temperature=temperature).probabilities(scores)  # (texts, C)
        return [float(p) for p in found[np.arange(len(gold)), gold]]

    fitted = ClassCalibration(temperature=fit_temperature(of_labels, np.ones(len(gold)).tolist()))
    errors = [
        class_calibration_error(one.probabilities(scores), gold.tolist())
        for one in (ClassCalibration(), fitted)
    ]
    measured = {"texts": len(gold), "error_before": errors[0], "error_after": errors[1]}
    return fitted.model_copy(update=measured)


def class_calibration_error(probabilities: NDArray[np.float64], labels: Sequence[int]) -> float:
    """The expected calibration error of the likeliest classes: probabilities (texts, C)."""
    right = probabilities.argmax(axis=1) == np.asarray(labels)  # (texts,)
    confidences = [float(p) for p in probabilities.max(axis=1)]
    return expected_calibration_error(confidences, [float(flag) for flag in right])
