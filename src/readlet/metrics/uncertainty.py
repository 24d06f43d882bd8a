"""Confidence intervals of scores and comparisons of two systems, for any metric of a task."""

import numpy as np

from readlet.metrics.significance import (
    bootstrap_interval,
    paired_permutation,
    percentile_interval,
    resampled_scores,
    swapped_p_values,
)
from readlet.metrics.task import Items, Metric


def score_interval(metric: Metric, items: Items) -> tuple[float, float]:
    """The 95 % bootstrap interval over items, in percent."""
    table = metric.table(items)  # (items, columns)
    if metric.is_mean:
        return bootstrap_interval(table[:, 0])
    if not len(table):
        return 0.0, 0.0
    low, high = percentile_interval(resampled_scores(table[:, None, None], metric.of_sums))[:, 0]
    return float(low), float(high)


def difference_p(metric: Metric, items: Items, other: Items) -> float:
    """The p-value of a paired permutation test of two systems on the same items."""
    first, second = metric.table(items), metric.table(other)  # (items, columns) each
    if metric.is_mean:
        return paired_permutation(first[:, 0], second[:, 0])
    differ = np.any(first != second, axis=1)
    if not differ.any():
        return 1.0
    sides = first[:, None, None], second[:, None, None]  # (items, 1, 1, columns) each
    return float(swapped_p_values(*sides, metric.of_sums)[0])
