"""Evaluation and calibration of a span model, during and after training."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from readlet.families.family import TrainableScorer
from readlet.fitting.training_data import Part
from readlet.metrics.span_task import SPANS
from readlet.nn.softmax_tracker import tracked_softmax
from readlet.reading.calibration import UNCALIBRATED, Calibration
from readlet.reading.fit_calibration import TOO_FEW, TOO_FEW_OF_A_KIND, calibrate
from readlet.reading.predictor import Predictor
from readlet.training.weight_selection import Scores
from readlet.types import Prediction

_TRACKED = 32  # rows: all attention scores of every head are in memory at once


@dataclass(frozen=True)
class SpanEvaluator:
    """Scores the current weights, with the calibration from before training."""

    scorer: TrainableScorer
    batch_size: int
    dev: Part
    track_softmax: bool = False
    calibration: Calibration = UNCALIBRATED  # that of the start reader, if there is one
    # Fitted on questions of one kind, refusals would fail on the kinds that the start reader knows.
    keeps_refusals: bool = False

    @property
    def predictor(self) -> Predictor:
        return Predictor(self.scorer, self.calibration, self.batch_size, n_best=1)

    def __call__(self) -> Scores:
        predictions = self.predictor.predict(self.dev.examples, self.dev.rows)
        scores = SPANS.score(self.dev.examples, predictions).summary
        return scores | (softmax_statistics(self.scorer, self.dev) if self.track_softmax else {})

    def calibrated(self, held_out: Part) -> tuple[Calibration, list[Prediction]]:
        """The calibration fitted on held-out questions, and the calibrated predictions on dev."""
        fitted = calibrate(
            self.predictor,
            held_out.examples,
            held_out.rows,
            self.calibration,
            refusals=not self.keeps_refusals,
        )
        calibrated = replace(self.predictor, calibration=fitted)
        return fitted, calibrated.predict(self.dev.examples, self.dev.rows)


def raw_refusals(fitted: Calibration, predictions: Sequence[Prediction]) -> list[Prediction]:
    """The predictions if "no answer" wins when its score is the highest, as without calibration."""
    even = fitted.no_answer(0.0)  # its probability when it has the score of the best answer
    return [prediction.at_threshold(even) for prediction in predictions]


def softmax_statistics(scorer: TrainableScorer, part: Part) -> Scores:
    """Variance and entropy of every attention softmax, on the largest batch of a few rows."""
    batches = scorer.scores(scorer.encoder.encode(part.examples[:_TRACKED]), _TRACKED)
    size, found = 0, []
    while True:
        with tracked_softmax(scorer.module) as tracked:
            batch = next(batches, None)
        if batch is None:
            break
        if len(batch[0]) > size:
            size, found = len(batch[0]), tracked
    return {
        f"softmax.{number:02d}.{of_layer.layer}.{name}": value
        for number, of_layer in enumerate(found)
        for name, value in (("variance", of_layer.variance), ("entropy", of_layer.entropy))
    }


def unfitted(fitted: Calibration, default: Calibration, *, wants_refusals: bool) -> str:
    """Why the calibration, or a part of it, was not fitted; empty if it was."""
    if not fitted.questions:
        return f"calibration not fitted: {TOO_FEW}"
    refusals = (fitted.no_answer_slope, fitted.no_answer_bias)
    if wants_refusals and refusals == (default.no_answer_slope, default.no_answer_bias):
        return f"refusals not fitted: {TOO_FEW_OF_A_KIND}"
    return ""
