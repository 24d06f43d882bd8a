"""Scores per item, and metrics over many items.

An item (a question, a sentence) has a few columns of numbers. A metric is a formula over the sums
of columns, so that resampling items, or swapping them between two systems, only needs new sums.
Means, Matthews correlation and the F1 of classes are such formulas.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Items = Mapping[str, NDArray[Any]]
"""Columns of numbers by name, (items,) each."""
Scores = dict[str, float]
Formula = Callable[..., NDArray[np.float64]]
"""From the sums of a metric's columns, arrays of one shape, to scores of that shape, in percent."""

ONE = "one"
"""A virtual column that is 1 for every item; its sum is the number of items."""


def ratio(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    """part / whole in percent; 0 where whole is 0."""
    part, whole = np.broadcast_arrays(np.asarray(part, np.float64), whole)
    return 100.0 * np.divide(part, whole, out=np.zeros(part.shape), where=whole != 0)


@dataclass(frozen=True)
class Metric:
    """A score over many items, in percent; larger is better."""

    name: str  # in results and table files
    label: str  # in reports
    columns: tuple[str, ...]
    formula: Formula
    among: str = ""  # a column of flags that select the items; empty: all items

    @property
    def is_mean(self) -> bool:
        """Whether it is the mean of its first column: means have faster tests."""
        return self.formula is ratio and self.columns[1:] == (ONE,)

    def chosen(self, items: Items) -> NDArray[np.bool_] | None:
        """Flags of the selected items, (items,); None for all."""
        return items[self.among].astype(np.bool_) if self.among else None

    def table(self, items: Items) -> NDArray[np.float64]:
        """The columns of the selected items: (selected items, columns)."""
        count = len(next(iter(items.values())))
        every = {name: items[name] if name != ONE else np.ones(count) for name in self.columns}
        stacked = np.stack([np.asarray(every[n], np.float64) for n in self.columns], axis=1)
        chosen = self.chosen(items)
        return stacked if chosen is None else stacked[chosen]

    def of_sums(self, sums: NDArray[Any]) -> NDArray[np.float64]:
        """Scores of sums, (..., columns) -> (...)."""
        return self.formula(*np.moveaxis(np.asarray(sums, np.float64), -1, 0))

    def score(self, items: Items) -> float:
        return float(self.of_sums(self.table(items).sum(axis=0)))


def mean(name: str, label: str, column: str, among: str = "") -> Metric:
    """The mean of one column with values from 0 to 1."""
    return Metric(name, label, (column, ONE), ratio, among)


@dataclass(frozen=True)
class Scored:
    """Scored predictions."""

    ids: Sequence[str]
    items: Items  # in the order of the ids
    summary: Scores  # official, in percent, with the number of items as `total`
    answers: Mapping[str, str]  # predictions by id


@dataclass(frozen=True)
class Task:
    """A task of a model, with its metrics."""

    name: str
    noun: str  # plural name of its items: "questions"
    metrics: tuple[Metric, ...]
    decisive: str  # the metric that selects the best weights
    headline: tuple[str, ...]  # metrics shown in a progress line
    score: Callable[[Sequence[Any], Sequence[Any]], Scored]  # examples, their predictions

    def metric(self, name: str) -> Metric:
        return next(metric for metric in self.metrics if metric.name == name)

    @property
    def decisive_label(self) -> str:
        return self.metric(self.decisive).label

    def progress(self, scores: Mapping[str, float]) -> str:
        """A progress line such as "EM 61.20, F1 71.33"."""
        return ", ".join(f"{self.metric(n).label} {scores[n]:.2f}" for n in self.headline)
