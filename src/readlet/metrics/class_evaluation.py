"""A complete evaluation of sentence classification: official scores, intervals, comparison."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from readlet.formats.glue import Task as GlueTask
from readlet.metrics.class_task import CLASSES
from readlet.metrics.glue import GLUE_CLASSES
from readlet.metrics.task import Scored, Task
from readlet.metrics.uncertainty import difference_p, score_interval
from readlet.types import Sentence


@dataclass(frozen=True)
class ClassEvaluation:
    """Everything that `readlet evaluate` prints for a GLUE file."""

    task: Task
    official: dict[str, float]
    missing: list[str]
    intervals: dict[str, tuple[float, float]]
    against: dict[str, float] | None

    def as_json(self) -> dict[str, Any]:
        extra: dict[str, Any] = {
            "missing": self.missing,
            "confidence_95": {name: list(bounds) for name, bounds in self.intervals.items()},
        }
        if self.against is not None:
            extra["against"] = self.against
        return self.official | extra


def evaluate_classes(
    name: GlueTask,
    sentences: Sequence[Sentence],
    predictions: Mapping[str, str],
    *,
    against: Mapping[str, str] | None = None,
) -> ClassEvaluation:
    """Score predicted classes by id; a sentence without a prediction counts as wrong."""
    task = CLASSES[name]
    scored = _scored(task, sentences, predictions)
    return ClassEvaluation(
        task=task,
        official=scored.summary,
        missing=_missing(sentences, predictions),
        intervals={metric.name: score_interval(metric, scored.items) for metric in task.metrics},
        against=_compare(task, sentences, scored, against) if against is not None else None,
    )


def _scored(task: Task, sentences: Sequence[Sentence], given: Mapping[str, str]) -> Scored:
    return task.score(sentences, [given.get(s.id) or _wrong(s) for s in sentences])


def _wrong(sentence: Sentence) -> str:
    return next(name for name in GLUE_CLASSES if name != sentence.label)


def _missing(sentences: Sequence[Sentence], given: Mapping[str, str]) -> list[str]:
    return [sentence.id for sentence in sentences if sentence.id not in given]


def _compare(
    task: Task, sentences: Sequence[Sentence], ours: Scored, against: Mapping[str, str]
) -> dict[str, float]:
    theirs = _scored(task, sentences, against)
    found: dict[str, float] = {}
    for metric in task.metrics:
        there = theirs.summary[metric.name]
        found[metric.name] = there
        found[f"{metric.name}_difference"] = ours.summary[metric.name] - there
        found[f"{metric.name}_p"] = difference_p(metric, ours.items, theirs.items)
    return found | {"missing": len(_missing(sentences, against))}
