"""Confidence intervals of scores, significance tests of differences, and calibration error.

Intervals and tests are for any metric of a task. Means have faster variants; `resampled_scores` and
`swapped_p_values` accept any formula of sums. Calibration error: how well confidences match
accuracies, in bins of confidence.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from readlet.evaluation.task import Items, Metric

_BATCH = 100  # resamples at a time: limits the memory
_PERMUTATIONS_PER_COLUMN = 50
Numbers = NDArray[np.floating[Any]]
OfSums = Callable[[NDArray[Any]], NDArray[np.float64]]
"""From sums to scores, (..., columns) -> (...)."""


def bootstrap_intervals(
    values: Numbers, *, resamples: int = 1000, level: float = 0.95, seed: int = 0
) -> NDArray[np.float64]:
    """Percentile intervals of the means of columns, (items, columns) -> (2, columns).

    All columns use the same resampled items. The units are those of the values.
    """
    count = len(values)
    counts = _resampled_counts(count, resamples, seed)
    means = np.concatenate([times @ values / count for times in counts])  # (resamples, columns)
    return percentile_interval(means, level=level)


def percentile_interval(
    scores: NDArray[np.floating[Any]], *, level: float = 0.95
) -> NDArray[np.float64]:
    """Lower and upper bound of resampled scores: (resamples, ...) -> (2, ...)."""
    tail = 50 * (1 - level)
    bounds: NDArray[np.float64] = np.percentile(scores, [tail, 100 - tail], axis=0)
    return bounds


def resampled_scores(
    tables: NDArray[Any], of_sums: OfSums, *, resamples: int = 1000, seed: int = 0
) -> NDArray[np.float64]:
    """Scores over resampled items, (items, systems, seeds, columns) -> (resamples, systems).

    A system's score is the mean over its seeds. Every call draws the same items.
    """
    wide = tables.reshape(len(tables), -1).astype(np.float64)  # (items, all else)
    found = []
    for times in _resampled_counts(len(tables), resamples, seed):
        sums = (times @ wide).reshape(-1, *tables.shape[1:])  # (rows, systems, seeds, columns)
        found.append(of_sums(sums).mean(axis=-1))  # (rows, systems)
    return np.concatenate(found)


def paired_permutations(
    differences: Numbers, *, permutations: int = 10_000, seed: int = 0
) -> NDArray[np.float64]:
    """Two-sided p-values of mean differences, (items, columns), if the systems are exchangeable.

    Many columns need more permutations: Holm's correction could otherwise find nothing significant.
    """
    permutations = max(permutations, _PERMUTATIONS_PER_COLUMN * differences.shape[1])
    total = differences.sum(axis=0)  # (columns,)
    # Rounding must not decide between equal sums.
    limit = np.abs(total) - 1e-4 * np.abs(differences).sum(axis=0).clip(min=1e-6)  # (columns,)
    extreme = np.zeros(differences.shape[1], np.int64)  # (columns,)
    for kept in _random_flags(len(differences), permutations, seed):
        sums = 2.0 * (kept @ differences) - total  # (rows, columns)
        extreme += (np.abs(sums) >= limit).sum(axis=0)
    return (extreme + 1) / (permutations + 1)


def swapped_p_values(
    first: NDArray[Any],
    second: NDArray[Any],
    of_sums: OfSums,
    *,
    permutations: int = 10_000,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Two-sided p-values of many pairs of systems, by swapping items between the two.

    Both tables are (items, pairs, seeds, columns); the result is (pairs,). An item is swapped for
    all seeds or for none: they share its difficulty.
    """
    permutations = max(permutations, _PERMUTATIONS_PER_COLUMN * first.shape[1])
    sums_first, sums_second = first.sum(axis=0), second.sum(axis=0)  # (pairs, seeds, columns)
    change = (second - first).reshape(len(first), -1)  # (items, all else)

    def difference(moved: NDArray[Any]) -> NDArray[np.float64]:
        scores = of_sums(sums_first + moved) - of_sums(sums_second - moved)  # (..., pairs, seeds)
        means: NDArray[np.float64] = scores.mean(axis=-1)
        return means

    limit = np.abs(difference(np.zeros_like(sums_first))) - 1e-6  # rounding must not decide
    extreme = np.zeros(first.shape[1], np.int64)  # (pairs,)
    for swapped in _random_flags(len(first), permutations, seed):
        moved = (swapped @ change).reshape(-1, *sums_first.shape)  # (rows, pairs, seeds, columns)
        found = difference(moved)  # (rows, pairs)
        extreme += (np.abs(found) >= limit).sum(axis=0)
    return (extreme + 1) / (permutations + 1)


def _resampled_counts(items: int, resamples: int, seed: int) -> Iterator[Numbers]:
    """How often each item was drawn, in batches of (rows, items)."""
    generator = np.random.default_rng(seed)
    for done in range(0, resamples, _BATCH):
        rows = min(_BATCH, resamples - done)
        drawn = generator.integers(0, items, (rows, items))  # (rows, items)
        flat = (drawn + items * np.arange(rows)[:, None]).ravel()
        times = np.bincount(flat, minlength=rows * items).reshape(rows, items)
        yield times.astype(np.float32)


def _random_flags(items: int, permutations: int, seed: int) -> Iterator[Numbers]:
    """0 or 1 with equal probability for each item, in batches of (rows, items)."""
    generator = np.random.default_rng(seed)
    bytes_per_row = -(-items // 8)
    for done in range(0, permutations, _BATCH):
        rows = min(_BATCH, permutations - done)
        random = generator.integers(0, 256, (rows, bytes_per_row), dtype=np.uint8)
        yield np.unpackbits(random, axis=1, count=items).astype(np.float32)


def paired_t(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Two-sided p-value of Student's paired t-test; None without variance."""
    from scipy.special import stdtr  # scipy.stats takes a second to import

    differences = np.asarray(first) - np.asarray(second)
    if len(differences) < 2:
        return None
    # A few differences that are equal up to rounding are chance, not certainty.
    rounding = 1e-9 * max(1.0, float(np.abs([first, second]).max()))
    if np.ptp(differences) <= rounding:
        return 1.0 if abs(differences[0]) <= rounding else None
    count = len(differences)
    t = differences.mean() / (differences.std(ddof=1) / np.sqrt(count))
    return float(2 * stdtr(count - 1, -abs(t)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction: it controls the family-wise error rate."""
    order = np.argsort(p_values)
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = largest
    return corrected


def score_interval(metric: Metric, items: Items) -> tuple[float, float]:
    """The 95 % bootstrap interval over items, in percent."""
    table = metric.table(items)  # (items, columns)
    if not len(table):
        return 0.0, 0.0
    if metric.is_mean:
        bounds = 100 * bootstrap_intervals(table[:, :1])  # (2, 1)
    else:
        bounds = percentile_interval(resampled_scores(table[:, None, None], metric.of_sums))
    return float(bounds[0, 0]), float(bounds[1, 0])


def difference_p(metric: Metric, items: Items, other: Items) -> float:
    """The p-value of a paired permutation test of two systems on the same items."""
    first, second = metric.table(items), metric.table(other)  # (items, columns) each
    if metric.is_mean:
        return float(paired_permutations(first[:, :1] - second[:, :1])[0])
    differ = np.any(first != second, axis=1)
    if not differ.any():
        return 1.0
    sides = first[:, None, None], second[:, None, None]  # (items, 1, 1, columns) each
    return float(swapped_p_values(*sides, metric.of_sums)[0])


_BINS = 10  # of confidence


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """The predictions with a confidence from `low` to `high`."""

    low: float
    high: float
    predictions: int
    # Their mean confidence, and the share of them that is right.
    confidence: float
    accuracy: float


def reliability(confidences: Sequence[float], correct: Sequence[float]) -> list[ReliabilityBin]:
    """Ten bins of equal width; those without predictions are left out."""
    # (items,) each
    predicted, actual = np.asarray(confidences, np.float64), np.asarray(correct, np.float64)
    numbers = np.minimum((predicted * _BINS).astype(int), _BINS - 1)  # (items,)
    bins = []
    for number in range(_BINS):
        members = numbers == number  # (items,)
        if members.any():
            means = float(predicted[members].mean()), float(actual[members].mean())
            low, high = number / _BINS, (number + 1) / _BINS
            bins.append(ReliabilityBin(low, high, int(members.sum()), *means))
    return bins


def calibration_error(bins: Sequence[ReliabilityBin]) -> float:
    """Expected calibration error: the weighted mean gap between confidence and accuracy."""
    gaps = sum(bin.predictions * abs(bin.confidence - bin.accuracy) for bin in bins)
    return gaps / sum(bin.predictions for bin in bins) if bins else 0.0


def expected_calibration_error(confidences: Sequence[float], correct: Sequence[float]) -> float:
    """Weighted mean gap between confidence and accuracy over ten bins of equal width."""
    return calibration_error(reliability(confidences, correct))
