"""Values of texts on a scale (regression): Pearson correlation, with others in the summary."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from readlet.formats.labels import label_values
from readlet.metrics.task import ONE, Items, Metric, Scored, Task, ratio
from readlet.types import Sentence

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

    Both are shifted and scaled alike, which no correlation notices: sums of squares of large
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


def _score(sentences: Sequence[Sentence], predicted: Sequence[str]) -> Scored:
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


VALUES = Task("values", "texts", (PEARSON,), "pearson", ("pearson",), _score)
