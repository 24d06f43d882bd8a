"""All tasks by name, and all metrics that a table may list."""

import re
from collections.abc import Mapping
from functools import cache

from readlet.metrics.class_task import CLASS_METRICS, CLASSES, class_task
from readlet.metrics.span_task import SPANS
from readlet.metrics.task import Task
from readlet.metrics.value_task import VALUES

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
