"""Scores of labels and of values of texts: GLUE, any number of classes, regression.

Scores of classes are formulas over sums of indicators: for each class, whether it is the label,
whether it is predicted, and whether it is both. So they can be resampled; those of CoLA, SST-2 and
MRPC are the official ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from readlet.data.tables import GlueTask
from readlet.evaluation.task import ONE, Items, Metric, Scored, Task, mean, ratio
from readlet.text.labels import class_numbers, label_values
from readlet.types import Sentence

GLUE_CLASSES = ("0", "1")


Counts = NDArray[np.float64]
PREDICTED_CLASSES = "predicted_classes"
"""In summaries: how many classes were predicted at all; 1 means that the classifier collapsed."""


def matthews_correlation(*counts: Counts) -> NDArray[np.float64]:
    """In percent, of any number of classes (R_K, Gorodkin 2004).

    By convention 0 if the data or the predictions have only one class. The counts are those of
    labels, predictions and right predictions, class by class.
    """
    labelled, predicted, right = np.stack(counts).reshape(3, -1, *counts[0].shape)  # (C, ...) each
    total = labelled.sum(axis=0)  # (...)
    covariance = right.sum(axis=0) * total - (labelled * predicted).sum(axis=0)  # (...)
    spread = [total**2 - (side**2).sum(axis=0) for side in (predicted, labelled)]  # (...) each
    return ratio(covariance, np.sqrt(np.maximum(spread[0], 0) * np.maximum(spread[1], 0)))


def macro_f1(*counts: Counts) -> NDArray[np.float64]:
    """In percent: the mean F1 of the classes that are in the data or in the predictions."""
    labelled, predicted, right = np.stack(counts).reshape(3, -1, *counts[0].shape)  # (C, ...) each
    of_class = ratio(2 * right, labelled + predicted)  # (C, ...)
    present = (labelled + predicted > 0).sum(axis=0)  # (...)
    return ratio(of_class.sum(axis=0), present) / 100


def f1_of_class(labelled: Counts, predicted: Counts, right: Counts) -> NDArray[np.float64]:
    """In percent; 0 if the class is neither in the data nor in the predictions."""
    return ratio(2 * right, labelled + predicted)


def class_items(labels: Sequence[int], predicted: Sequence[int], classes: int = 2) -> Items:
    """The indicators of each text, (texts,) each."""
    gold, guess = np.array(labels, np.int64), np.array(predicted, np.int64)  # (texts,) each
    flags = {"correct": gold == guess}
    for number in range(classes):
        flags[f"label_{number}"] = gold == number
        flags[f"predicted_{number}"] = guess == number
        flags[f"right_{number}"] = (gold == number) & (guess == number)
    return {name: flag.astype(np.uint8) for name, flag in flags.items()}


def _columns(classes: Sequence[int]) -> tuple[str, ...]:
    return tuple(f"{part}_{n}" for part in ("label", "predicted", "right") for n in classes)


ACCURACY = mean("accuracy", "Accuracy", "correct")
F1 = Metric("f1", "F1", _columns([1]), f1_of_class)


def matthews_of(classes: int) -> Metric:
    columns = _columns(range(classes))
    return Metric("matthews_correlation", "Matthews correlation", columns, matthews_correlation)


def macro_f1_of(classes: int) -> Metric:
    return Metric("macro_f1", "Macro F1", _columns(range(classes)), macro_f1)


_METRICS: dict[str, Callable[[int], Metric]] = {
    "accuracy": lambda _: ACCURACY,
    "macro_f1": macro_f1_of,
    "f1": lambda _: F1,
    "matthews_correlation": matthews_of,
}
CLASS_METRICS = tuple(_METRICS)


def class_task(classes: Sequence[str], metrics: Sequence[str]) -> Task:
    """The task of a classifier with these classes, in its order; the first metric decides."""
    chosen = tuple(_METRICS[name](len(classes)) for name in metrics)
    name = f"{len(classes)} classes: {', '.join(metrics)}"
    score = partial(_score, tuple(classes), chosen)
    return Task(name, "texts", chosen, metrics[0], tuple(metrics), score)


def _score(
    classes: Sequence[str],
    metrics: Sequence[Metric],
    sentences: Sequence[Sentence],
    predicted: Sequence[str],
) -> Scored:
    labels = class_numbers("dev", sentences, classes)
    guesses = [classes.index(name) for name in predicted]
    items = class_items(labels, guesses, len(classes))
    ids = [sentence.id for sentence in sentences]
    scores = {metric.name: metric.score(items) for metric in metrics}
    counted = {"total": len(ids), PREDICTED_CLASSES: len({*guesses})}
    return Scored(ids, items, scores | counted, dict(zip(ids, predicted, strict=True)))


def _glue(name: GlueTask, *metrics: str) -> Task:
    task = class_task(GLUE_CLASSES, metrics)
    return replace(task, name=name, noun="sentences", score=partial(_official, task))


def _official(task: Task, sentences: Sequence[Sentence], predicted: Sequence[str]) -> Scored:
    """With the keys of GLUE only."""
    scored = task.score(sentences, predicted)
    official = {name: scored.summary[name] for name in (*task.headline, "total")}
    return replace(scored, summary=official)


CLASSES: dict[GlueTask, Task] = {
    "cola": _glue("cola", "matthews_correlation"),
    "sst2": _glue("sst2", "accuracy"),
    "mrpc": _glue("mrpc", "accuracy", "f1"),
}


Sums = NDArray[np.float64]
_ROUNDING = 1e-10  # relative: sums of double precision are right to some more digits


def pearson(
    count: Sums, label: Sums, value: Sums, label2: Sums, value2: Sums, product: Sums
) -> NDArray[np.float64]:
    """The correlation in percent; 0 if labels or predictions are all equal."""
    covariance = count * product - label * value  # (...)
    spreads = _spread(count, label, label2) * _spread(count, value, value2)  # (...)
    return ratio(covariance, np.sqrt(spreads))


def _spread(count: Sums, total: Sums, squares: Sums) -> NDArray[np.float64]:
    """The variance times the squared count; 0 if it is no more than rounding.

    A resample may draw the same value only: its variance is then 1e-16 instead of 0.
    """
    spread = count * squares - total**2  # (...)
    return np.where(spread > _ROUNDING * count * squares, spread, 0.0)


def value_items(labels: Sequence[float], values: Sequence[float]) -> Items:
    """Labels, values, their squares and products, (texts,) each.

    Both are shifted and scaled, which changes no correlation: sums of squares of large
    numbers would lose the digits that matter.
    """
    gold, guess = np.array(labels, np.float64), np.array(values, np.float64)  # (texts,) each
    middle, scale = (gold.mean(), gold.std() or 1.0) if len(gold) else (0.0, 1.0)
    gold, guess = (gold - middle) / scale, (guess - middle) / scale
    return {
        "label": gold,
        "value": guess,
        "label_squared": gold**2,
        "value_squared": guess**2,
        "product": gold * guess,
    }


PEARSON = Metric(
    "pearson",
    "Pearson correlation",
    (ONE, "label", "value", "label_squared", "value_squared", "product"),
    pearson,
)


def _score_values(sentences: Sequence[Sentence], predicted: Sequence[str]) -> Scored:
    labels, values = label_values("dev", sentences), [float(text) for text in predicted]
    items = value_items(labels, values)
    ids = [sentence.id for sentence in sentences]
    errors = np.square(np.array(labels) - np.array(values))  # (texts,)
    summary = {
        "pearson": PEARSON.score(items),
        "spearman": PEARSON.score(value_items(ranks(labels), ranks(values))),
        "mean_squared_error": float(errors.mean()) if len(errors) else 0.0,
        "total": len(ids),
    }
    return Scored(ids, items, summary, dict(zip(ids, predicted, strict=True)))


def ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1; equal values share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    of_value = np.cumsum(counts) - (counts - 1) / 2  # (distinct values,)
    return [float(rank) for rank in of_value[inverse]]


VALUES = Task("values", "texts", (PEARSON,), "pearson", ("pearson",), _score_values)
