"""Sentence classification: the GLUE metrics of CoLA, SST-2 and MRPC."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from readlet.formats.glue import Task as GlueTask
from readlet.formats.labels import class_numbers
from readlet.metrics.glue import GLUE_CLASSES, glue_scores
from readlet.metrics.task import Items, Metric, Scored, Task, mean, ratio
from readlet.types import Sentence

Counts = NDArray[np.float64]


def matthews_correlation(
    true_yes: Counts, false_yes: Counts, false_no: Counts, true_no: Counts
) -> NDArray[np.float64]:
    """In percent. By convention 0 if the data or the predictions have only one class."""
    predicted = (true_yes + false_yes) * (true_no + false_no)
    labelled = (true_yes + false_no) * (true_no + false_yes)
    return ratio(true_yes * true_no - false_yes * false_no, np.sqrt(predicted * labelled))


def f1_of_classes(true_yes: Counts, false_yes: Counts, false_no: Counts) -> NDArray[np.float64]:
    """F1 of class 1, in percent; 0 if that class is neither in the data nor in the predictions."""
    return ratio(2 * true_yes, 2 * true_yes + false_yes + false_no)


def class_items(labels: Sequence[int], predicted: Sequence[int]) -> Items:
    """Indicators of the four cells of the confusion matrix: one of them is 1 for each sentence."""
    gold, guess = np.array(labels, np.bool_), np.array(predicted, np.bool_)  # (sentences,) each
    flags = {
        "correct": gold == guess,
        "true_yes": gold & guess,
        "false_yes": ~gold & guess,
        "false_no": gold & ~guess,
        "true_no": ~gold & ~guess,
    }
    return {name: flag.astype(np.uint8) for name, flag in flags.items()}


def _score(task: GlueTask, sentences: Sequence[Sentence], predicted: Sequence[str]) -> Scored:
    labels = class_numbers(task, sentences, GLUE_CLASSES)
    guesses = [GLUE_CLASSES.index(name) for name in predicted]
    ids = [sentence.id for sentence in sentences]
    return Scored(
        ids=ids,
        items=class_items(labels, guesses),
        summary=glue_scores(task, labels, guesses),
        answers=dict(zip(ids, predicted, strict=True)),
    )


ACCURACY = mean("accuracy", "Accuracy", "correct")
MATTHEWS = Metric(
    "matthews_correlation",
    "Matthews correlation",
    ("true_yes", "false_yes", "false_no", "true_no"),
    matthews_correlation,
)
F1 = Metric("f1", "F1", ("true_yes", "false_yes", "false_no"), f1_of_classes)


def _task(name: GlueTask, *metrics: Metric) -> Task:
    names = tuple(metric.name for metric in metrics)
    return Task(name, "sentences", metrics, names[0], names, partial(_score, name))


CLASSES: dict[GlueTask, Task] = {
    "cola": _task("cola", MATTHEWS),
    "sst2": _task("sst2", ACCURACY),
    "mrpc": _task("mrpc", ACCURACY, F1),
}
