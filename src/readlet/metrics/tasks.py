"""All tasks by name, and all metrics that a table may ask for."""

from collections.abc import Mapping

from readlet.metrics.class_task import CLASSES
from readlet.metrics.span_task import SPANS
from readlet.metrics.task import Task

TASKS: dict[str, Task] = {task.name: task for task in (SPANS, *CLASSES.values())}
LABELS: dict[str, str] = {
    metric.name: metric.label for task in TASKS.values() for metric in task.metrics
}
"""What each metric is called for people; tasks that share a name share its label."""


def task_of(scores: Mapping[str, float]) -> Task:
    """The task that has such scores: the one of whose progress line they hold most."""
    fitting = [task for task in TASKS.values() if scores.keys() >= {*task.headline}]
    return max(fitting, key=lambda task: len(task.headline))
