"""All tasks by name, and all metrics that a table may list."""

from collections.abc import Mapping

from readlet.metrics.class_task import CLASSES
from readlet.metrics.span_task import SPANS
from readlet.metrics.task import Task

TASKS: dict[str, Task] = {task.name: task for task in (SPANS, *CLASSES.values())}
LABELS: dict[str, str] = {
    metric.name: metric.label for task in TASKS.values() for metric in task.metrics
}
"""Labels of the metrics in reports; metrics with the same name have the same label."""


def task_of(scores: Mapping[str, float]) -> Task:
    """The task with these scores: the one with most metrics in its progress line."""
    fitting = [task for task in TASKS.values() if scores.keys() >= {*task.headline}]
    return max(fitting, key=lambda task: len(task.headline))
