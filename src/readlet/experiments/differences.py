"""Significance of differences between rows: over items (such as questions), and over seeds."""

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from readlet.evaluation.statistics import (
    Numbers,
    bootstrap_intervals,
    holm,
    paired_permutations,
    paired_t,
    percentile_interval,
    resampled_scores,
    swapped_p_values,
)
from readlet.evaluation.task import Metric
from readlet.experiments.store import FinishedRun

Runs = Mapping[str, Sequence[FinishedRun]]
"""Finished runs by the name of their row."""
Column = NDArray[np.float64]


@dataclass(frozen=True)
class Difference:
    """One row against another, by one metric, in points, over the seeds that both have."""

    row: str
    against: str
    metric: str
    mean: float
    # Over items: the variation with other items of the same kind. None if the two rows were not
    # scored on the same items.
    low: float | None
    high: float | None
    p_items: float | None  # corrected for the number of comparisons (Holm)
    # Over seeds: the variation with other seeds. None with a single seed or without variance.
    seeds: int
    p_seeds: float | None  # also corrected


@dataclass(frozen=True)
class _Pair:
    """Two rows with the runs of their common seeds, so that the seeds do not affect the result."""

    row: str
    against: str
    first: Sequence[FinishedRun]
    second: Sequence[FinishedRun]

    @property
    def items(self) -> str:
        """The digest of the items of all runs of both rows; empty if they differ."""
        same = {(run.result.items, run.result.task) for run in (*self.first, *self.second)}
        return same.pop()[0] if len(same) == 1 else ""

    def metric(self, name: str) -> Metric:
        return self.first[0].task.metric(name)

    def chosen(self, metric: Metric) -> NDArray[np.bool_] | None:
        """Flags of the items that a metric selects, (items,); None if the two rows differ."""
        if not metric.among:
            return np.array(True)
        flags = [self._columns(side, metric.among) for side in (self.first, self.second)]
        found = np.concatenate(flags).astype(np.bool_)  # (both rows' seeds, items)
        return found[0] if (found == found[0]).all() else None

    def mean_differences(self, metric: Metric) -> Numbers:
        """The difference between the rows on each selected item, in points: (items,)."""
        column = metric.columns[0]
        first, second = (
            100 * self._columns(side, column).mean(axis=0) for side in (self.first, self.second)
        )
        chosen = self.chosen(metric) if metric.among else slice(None)
        differences: Numbers = (first - second)[chosen]
        return differences

    def _columns(self, listed: Sequence[FinishedRun], column: str) -> NDArray[Any]:
        return np.stack([run.items[column] for run in listed])  # (seeds, items)


def _tables(listed: Sequence[FinishedRun], metric: Metric) -> Column:
    """The columns of every run of a row: (items, seeds, columns)."""
    return np.stack([metric.table(run.items) for run in listed], axis=1)


def find_differences(
    comparisons: Sequence[tuple[str, str]], runs: Runs, metrics: Sequence[str]
) -> list[Difference]:
    """Every comparison by every metric; p-values are corrected for the comparisons per metric.

    Rows without a common seed are not compared.
    """
    pairs = [pair for row, against in comparisons if (pair := _pair(row, against, runs)).first]
    return [found for metric in metrics for found in _by_metric(pairs, metric)]


def _pair(row: str, against: str, runs: Runs) -> _Pair:
    first, second = ({run.result.seed: run for run in runs[name]} for name in (row, against))
    common = sorted(first.keys() & second.keys())
    ours, theirs = ([of_seed[seed] for seed in common] for of_seed in (first, second))
    return _Pair(row, against, ours, theirs)


def _by_metric(pairs: Sequence[_Pair], metric: str) -> list[Difference]:
    known = [
        pair
        for pair in pairs
        if all(metric in run.result.scores for run in (*pair.first, *pair.second))
    ]
    over_items = _over_items(known, metric)
    over_seeds = {id(pair): _over_seeds(pair, metric) for pair in known}
    tested = {key: p for key, p in over_seeds.items() if p is not None}
    corrected = dict(zip(tested, holm(list(tested.values())), strict=True))
    found = []
    for pair in known:
        low, high, p_items = over_items.get(id(pair), (None, None, None))
        first, second = (
            statistics.fmean(run.result.scores[metric] for run in listed)
            for listed in (pair.first, pair.second)
        )
        found.append(
            Difference(
                row=pair.row,
                against=pair.against,
                metric=metric,
                mean=first - second,
                low=low,
                high=high,
                p_items=p_items,
                seeds=len(pair.first),
                p_seeds=corrected.get(id(pair)),
            )
        )
    return found


def _over_items(pairs: Sequence[_Pair], name: str) -> dict[int, tuple[float, float, float]]:
    """Interval and corrected p-value of the pairs that can be tested, by their `id`."""
    together: defaultdict[tuple[object, ...], list[_Pair]] = defaultdict(list)
    for pair in pairs:
        if pair.items:
            metric = pair.metric(name)
            chosen = pair.chosen(metric)
            seeds = 0 if metric.is_mean else len(pair.first)  # means are taken over them first
            if chosen is not None:
                together[pair.items, metric, chosen.tobytes(), seeds].append(pair)
    intervals: dict[int, tuple[float, float]] = {}
    p_values: dict[int, float] = {}
    for listed in together.values():
        keys = [id(pair) for pair in listed]
        low, high, p = _tested(listed, listed[0].metric(name))
        intervals |= zip(keys, zip(low.tolist(), high.tolist(), strict=True), strict=True)
        p_values |= zip(keys, p.tolist(), strict=True)
    corrected = holm(list(p_values.values()))
    return {key: (*intervals[key], p) for key, p in zip(p_values, corrected, strict=True)}


def _tested(pairs: Sequence[_Pair], metric: Metric) -> tuple[Column, Column, Column]:
    """Lower bounds, upper bounds and p-values of pairs with the same items: (pairs,) each."""
    if metric.is_mean:
        columns = np.stack([pair.mean_differences(metric) for pair in pairs], 1)  # (items, pairs)
        low, high = bootstrap_intervals(columns)
        return low, high, paired_permutations(columns)
    # (items, pairs, seeds, columns) each
    first = np.stack([_tables(pair.first, metric) for pair in pairs], 1)
    second = np.stack([_tables(pair.second, metric) for pair in pairs], 1)
    scores = (resampled_scores(side, metric.of_sums) for side in (first, second))
    low, high = percentile_interval(np.subtract(*scores))
    return low, high, swapped_p_values(first, second, metric.of_sums)


def _over_seeds(pair: _Pair, metric: str) -> float | None:
    scores = ([run.result.scores[metric] for run in listed] for listed in (pair.first, pair.second))
    return paired_t(*scores)
