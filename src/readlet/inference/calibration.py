"""Calibration: how scores become probabilities. It is fitted and stored with the reader.

From scores of classes to probabilities: a temperature, fitted on held-out texts.
"""

import math
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from readlet.evaluation.statistics import expected_calibration_error
from readlet.models.family import Floats

Doubles = NDArray[np.float64]
_LOG_RANGE = (math.log(0.25), math.log(8.0))  # of the temperature
_MOST_BIAS = 8.0
_MIN_GAIN = 1e-3  # nats per question
_MIN_SLOPE = 1e-3  # positive: a larger lead never makes "no answer" less likely

_EARLIER = "impossible_share"  # the name in stored readers of commit 0cb6c86 and before


class DocumentOdds(BaseModel):
    """How the pieces of many documents share one probability with "none of them".

    The odds that a piece has the answer, against "none of them", are a product of powers: of its
    relevance to the question, and of the reader's own odds that it has an answer. It is the
    conditional logit model (McFadden 1974) of the choice of a piece. A piece without a word of the
    question has odds of 0, whatever the reader makes of it.

    `benchmarks/documents.py` fits it. The defaults are those of the bundled reader, moved to a
    share of 0.3: there nine of ten right answers to held-out questions are still given.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    relevance: Annotated[float, Field(gt=0.0, le=100.0)] = 0.381
    """The power of a piece's relevance (`BM25.relevance`)."""
    evidence: Annotated[float, Field(ge=0.0, le=100.0)] = 1.196
    """The power of the reader's odds."""
    bias: Annotated[float, Field(ge=-100.0, le=100.0)] = -1.038
    """The logarithm of the odds where both are 1."""
    unanswerable_share: Annotated[float, Field(gt=0, lt=1)] = 0.3
    """The share of questions that no document answers, for which they hold."""

    def assuming(self, unanswerable_share: float) -> "DocumentOdds":
        """The same evidence where another share of the questions is unanswerable (Bayes' rule)."""
        shift = logit(unanswerable_share) - logit(self.unanswerable_share)
        moved = {"bias": self.bias - shift, "unanswerable_share": unanswerable_share}
        return self.model_copy(update=moved)

    def shares(
        self, relevance: Sequence[float], no_answer: Sequence[float]
    ) -> tuple[list[float], float]:
        """The probabilities that each piece has the answer, and of none; they add up to 1."""
        odds = [
            share**self.relevance
            * math.exp(min(self.bias - self.evidence * logit(_inside(none)), _MOST_ODDS))
            for share, none in zip(relevance, no_answer, strict=True)
        ]
        total = 1.0 + sum(odds)
        return [one / total for one in odds], 1.0 / total


_MOST_ODDS = 50.0  # as a logarithm


def _inside(probability: float) -> float:
    return min(max(probability, 1e-4), 1.0 - 1e-4)


class Calibration(BaseModel):
    """Stored with every reader as `calibration.json`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    temperature: Annotated[float, Field(ge=1e-3, le=1e3)] = 1.0
    """Scores of spans are divided by it before they become probabilities."""
    answer_bias: Annotated[float, Field(ge=0.0, le=1e3)] = 0.0
    """Added to the log-odds of the best answer: spans that differ by an article or a comma are
    right together, but share their probability."""
    no_answer_slope: Annotated[float, Field(gt=0.0, le=1e6)] = 1.0
    """Factor of the lead that "no answer" has over the best answer, as log-odds."""
    no_answer_bias: Annotated[float, Field(ge=-1e3, le=1e3)] = 0.0
    """Added to that: log-odds of "no answer" when both have the same score."""
    no_answer_windows: Annotated[float, Field(ge=0.0, le=10.0)] = 0.0
    """Factor of the log of the number of windows, also added: each further one is another chance
    of a plausible wrong answer."""
    unanswerable_share: Annotated[
        float, Field(gt=0, lt=1, validation_alias=AliasChoices("unanswerable_share", _EARLIER))
    ] = 0.5
    """The share of unanswerable questions for which the no-answer probability holds: that of the
    questions on which it was fitted, unless it was moved."""
    documents: DocumentOdds = DocumentOdds()
    """How answers of many documents compare."""
    questions: Annotated[int, Field(ge=0)] = 0
    """Held-out questions on which it was fitted."""
    error_before: float | None = None
    """Expected calibration error of the best answers' scores with the defaults."""
    error_after: float | None = None
    """The same with the fitted values."""

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Calibration":
        """The stored calibration; one without a temperature is damaged."""
        if "temperature" not in values:
            raise ValueError("temperature is missing")
        # Of earlier versions: readers abstained above this no-answer probability.
        known = {name: value for name, value in values.items() if name != "no_answer_threshold"}
        return cls.model_validate(known)

    def assuming(self, unanswerable_share: float) -> "Calibration":
        """The same evidence where another share of the questions is unanswerable (Bayes' rule)."""
        shift = logit(unanswerable_share) - logit(self.unanswerable_share)
        moved = {
            "no_answer_bias": self.no_answer_bias + shift,
            "unanswerable_share": unanswerable_share,
        }
        return self.model_copy(update=moved)

    def of_answers(self, shares: Sequence[float]) -> list[float]:
        """The probabilities of answers, best first, from their shares of all spans."""
        return shifted(shares, self.answer_bias) if self.answer_bias else list(shares)

    def no_answer(self, lead: float, windows: int = 1) -> float:
        """The probability of "no answer" when its score exceeds the best answer's by `lead`.

        The best of so many windows, that is.
        """
        x = self.no_answer_slope * lead + self.no_answer_bias
        return logistic(x + self.no_answer_windows * math.log(windows))


def shifted(shares: Sequence[float], shift: float) -> list[float]:
    """Shares, best first, after a shift of the log-odds of the best one.

    The others share what it leaves, as before.
    """
    if not shares:
        return []
    best = logistic(logit(shares[0]) + shift)
    left = (1.0 - best) / (1.0 - shares[0]) if shares[0] < 1.0 else 0.0
    return [best, *(share * left for share in shares[1:])]


def logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0 else math.exp(x) / (1.0 + math.exp(x))


UNCALIBRATED = Calibration()
"""Scores as the model gives them."""


def fit_temperature(
    confidences: Callable[[float], Sequence[float]], correct: Sequence[float]
) -> float:
    """The temperature at which confidence best predicts whether the answer is right (log loss)."""
    from scipy.optimize import minimize_scalar  # used only in training, and slow to import

    def loss(log_temperature: float) -> float:
        return _log_loss(_log_odds(confidences(math.exp(log_temperature))), correct)

    found = minimize_scalar(loss, bounds=_LOG_RANGE, method="bounded")
    # A smaller gain is not significant: then the scores are not changed.
    return float(np.exp(found.x)) if loss(0.0) - found.fun > _MIN_GAIN else 1.0


def fit_answers(
    confidences: Callable[[float], Sequence[float]], correct: Sequence[float]
) -> tuple[float, float]:
    """Temperature and bias with which confidence best predicts whether the answer is right."""
    from scipy.optimize import minimize_scalar

    def bias_at(temperature: float) -> tuple[float, float]:
        odds = _log_odds(confidences(temperature))  # (questions,)
        found = minimize_scalar(
            lambda bias: _log_loss(odds + bias, correct), bounds=(0.0, _MOST_BIAS), method="bounded"
        )
        return float(found.fun), float(found.x)

    found = minimize_scalar(lambda x: bias_at(math.exp(x))[0], bounds=_LOG_RANGE, method="bounded")
    alone = fit_temperature(confidences, correct)
    if _log_loss(_log_odds(confidences(alone)), correct) - found.fun <= _MIN_GAIN:
        return alone, 0.0
    temperature = math.exp(found.x)
    return temperature, bias_at(temperature)[1]


def _log_odds(confidences: Sequence[float]) -> Doubles:
    p = np.clip(np.asarray(confidences, np.float64), 1e-6, 1 - 1e-6)  # (questions,)
    odds: Doubles = np.log(p) - np.log1p(-p)  # (questions,)
    return odds


def _log_loss(log_odds: Doubles, correct: Sequence[float] | Doubles) -> float:
    return float(np.mean(np.logaddexp(0.0, log_odds) - np.asarray(correct) * log_odds))


def logit(probability: float) -> float:
    """Log-odds; a probability rounded to 0 or 1 is replaced by the nearest number inside."""
    inside = min(max(probability, 1e-300), 1.0 - 2.0**-53)
    return math.log(inside) - math.log1p(-inside)


def fit_no_answer(
    leads: Sequence[float], unanswerable: Sequence[bool], added: Doubles | float = 0.0
) -> tuple[float, float]:
    """Slope and bias (Platt 1999) with which leads best predict which questions are unanswerable.

    `added` are log-odds that are known already, of each question or of all.

    A reader trained on easy unanswerable questions has too small a lead on hard ones: it may rank
    them well, and yet never reach a probability of a half without this fit.
    """
    from scipy.optimize import minimize

    x = np.asarray(leads, np.float64)
    # Platt's targets: not quite 0 and 1, so that separable data does not give an infinite slope.
    positive = sum(unanswerable)
    high, low = (positive + 1) / (positive + 2), 1 / (len(unanswerable) - positive + 2)
    truth = np.where(unanswerable, high, low)

    def loss(parameters: Doubles) -> float:
        return _log_loss(parameters[0] * x + parameters[1] + added, truth)

    found = minimize(loss, (1.0, 0.0), bounds=((_MIN_SLOPE, None), (None, None)))
    return float(found.x[0]), float(found.x[1])


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
