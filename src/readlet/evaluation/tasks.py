"""All tasks by name, and all metrics that a table may list."""

import re
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from readlet.evaluation.classification import CLASS_METRICS, CLASSES, VALUES, class_task
from readlet.evaluation.squad import QuestionScores, rules_of, score_questions, summary
from readlet.evaluation.task import Items, Scored, Task, mean
from readlet.types import Example, Prediction


def question_items(scores: QuestionScores) -> Items:
    """The columns of scored questions."""
    has_answer = np.array(scores.has_answer, np.bool_)
    return {
        "exact": np.array(scores.exact, np.float64),
        "f1": np.array(scores.f1, np.float64),
        "has_answer": has_answer.astype(np.uint8),
        "no_answer": (~has_answer).astype(np.uint8),
    }


def _score_spans(examples: Sequence[Example], predictions: Sequence[Prediction]) -> Scored:
    """By the official rules: those of 2.0 if any question is unanswerable."""
    of_id = {e.id: p for e, p in zip(examples, predictions, strict=True)}
    answers = {identity: prediction.text for identity, prediction in of_id.items()}
    scores = score_questions(examples, answers, rules_of(examples))
    # The position of an answer does not affect its score; reports mark it in the passage.
    starts = np.array([of_id[identity].start for identity in scores.ids], np.int32)
    items = {**question_items(scores), "start": starts}
    return Scored(scores.ids, items, summary(scores), answers)


SPANS = Task(
    name="spans",
    noun="questions",
    metrics=(
        mean("exact", "EM", "exact"),
        mean("f1", "F1", "f1"),
        mean("HasAns_exact", "EM, with answer", "exact", "has_answer"),
        mean("HasAns_f1", "F1, with answer", "f1", "has_answer"),
        mean("NoAns_exact", "EM, without answer", "exact", "no_answer"),
        mean("NoAns_f1", "F1, without answer", "f1", "no_answer"),
    ),
    decisive="f1",
    headline=("exact", "f1"),
    score=_score_spans,
)


_TWO = ("0", "1")
TASKS: dict[str, Task] = {
    task.name: task for task in (SPANS, *CLASSES.values(), VALUES, class_task(_TWO, CLASS_METRICS))
}
"""Those with a name of their own, and one of classes."""
LABELS: dict[str, str] = {
    metric.name: metric.label for task in TASKS.values() for metric in task.metrics
}
"""Labels of the metrics in reports; metrics with the same name have the same label."""
_OF_CLASSES = re.compile(r"(\d{1,6}) classes: (.+)")


@cache
def task_named(name: str) -> Task | None:
    """The task of a stored run; None if there is none of this name.

    Its metrics are at work there, not its names of classes, which only the classifier knows.
    """
    if name in TASKS:
        return TASKS[name]
    found = _OF_CLASSES.fullmatch(name)
    metrics = found[2].split(", ") if found else []
    if not found or not {*metrics} <= {*CLASS_METRICS}:
        return None
    return class_task([str(number) for number in range(int(found[1]))], metrics)


def task_of(scores: Mapping[str, float]) -> Task:
    """The task with these scores, as far as its metrics; the first one decides."""
    for task in (SPANS, VALUES):
        if scores.keys() >= {*task.headline}:
            return task
    return class_task(_TWO, [name for name in scores if name in CLASS_METRICS])
