"""A complete evaluation of labels: scores, intervals, confusion, calibration, comparison."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from readlet.metrics.calibration_error import ReliabilityBin, calibration_error, reliability
from readlet.metrics.task import Scored, Task
from readlet.metrics.uncertainty import difference_p, score_interval
from readlet.types import Sentence


@dataclass(frozen=True)
class ClassEvaluation:
    """Everything that `readlet evaluate` prints for texts with labels."""

    task: Task
    official: dict[str, float]
    missing: list[str]
    intervals: dict[str, tuple[float, float]]
    against: dict[str, float] | None
    # By label, then by predicted class; None for values.
    confusion: dict[str, dict[str, int]] | None = None
    # The classifier's confidence against its accuracy; None without a classifier.
    reliability: list[ReliabilityBin] | None = None

    @property
    def calibration_error(self) -> float | None:
        return None if self.reliability is None else calibration_error(self.reliability)

    def as_json(self) -> dict[str, Any]:
        extra: dict[str, Any] = {
            "missing": self.missing,
            "confidence_95": {name: list(bounds) for name, bounds in self.intervals.items()},
        }
        if self.confusion is not None:
            extra["confusion"] = self.confusion
        if self.against is not None:
            extra["against"] = self.against
        if self.reliability is not None:
            extra["calibration_error"] = self.calibration_error
            extra["reliability"] = [asdict(bin) for bin in self.reliability]
        return self.official | extra


def evaluate_classes(
    task: Task,
    classes: Sequence[str],
    sentences: Sequence[Sentence],
    predictions: Mapping[str, str],
    *,
    against: Mapping[str, str] | None = None,
    confidences: Mapping[str, float] | None = None,
) -> ClassEvaluation:
    """Score predicted labels by id; a text without a prediction counts as wrong.

    Without `classes` the labels are values, and every text needs a prediction.
    """
    scored = _scored(task, classes, sentences, predictions)
    return ClassEvaluation(
        task=task,
        official=scored.summary,
        missing=missing_in(sentences, predictions),
        intervals={metric.name: score_interval(metric, scored.items) for metric in task.metrics},
        against=(
            _compare(task, classes, sentences, scored, against) if against is not None else None
        ),
        confusion=_confusion(classes, sentences, predictions) if classes else None,
        reliability=_reliability(sentences, predictions, confidences),
    )


def missing_in(sentences: Sequence[Sentence], given: Mapping[str, str]) -> list[str]:
    """The ids of the texts without a prediction."""
    return [sentence.id for sentence in sentences if sentence.id not in given]


def _scored(
    task: Task, classes: Sequence[str], sentences: Sequence[Sentence], given: Mapping[str, str]
) -> Scored:
    return task.score(sentences, [given.get(s.id) or _wrong(classes, s) for s in sentences])


def _wrong(classes: Sequence[str], sentence: Sentence) -> str:
    return next(name for name in classes if name != sentence.label)


def _confusion(
    classes: Sequence[str], sentences: Sequence[Sentence], given: Mapping[str, str]
) -> dict[str, dict[str, int]]:
    counts = Counter((s.label, given[s.id]) for s in sentences if s.id in given)
    return {label: {name: counts[label, name] for name in classes} for label in classes}


def _reliability(
    sentences: Sequence[Sentence],
    predictions: Mapping[str, str],
    confidences: Mapping[str, float] | None,
) -> list[ReliabilityBin] | None:
    if confidences is None:
        return None
    correct = [float(predictions[s.id] == s.label) for s in sentences]
    return reliability([confidences[s.id] for s in sentences], correct)


def _compare(
    task: Task,
    classes: Sequence[str],
    sentences: Sequence[Sentence],
    ours: Scored,
    against: Mapping[str, str],
) -> dict[str, float]:
    theirs = _scored(task, classes, sentences, against)
    found: dict[str, float] = {}
    for metric in task.metrics:
        there = theirs.summary[metric.name]
        found[metric.name] = there
        found[f"{metric.name}_difference"] = ours.summary[metric.name] - there
        found[f"{metric.name}_p"] = difference_p(metric, ours.items, theirs.items)
    return found | {"missing": len(missing_in(sentences, against))}
