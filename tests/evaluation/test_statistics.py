"""Intervals and p-values against simulations and full enumerations."""

import itertools
import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from readlet.evaluation.statistics import (
    bootstrap_intervals,
    holm,
    paired_permutations,
    paired_t,
)

# --- intervals --------------------------------------------------------------------------------


def bootstrap_interval(values: Sequence[float], **options: Any) -> tuple[float, float]:
    low, high = 100 * bootstrap_intervals(np.array(values)[:, None], **options)[:, 0]
    return low, high


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_intervals_have_their_nominal_coverage(level: float) -> None:
    generator = np.random.default_rng(1)
    truth, repetitions = 0.7, 400
    covered = 0
    for seed in range(repetitions):
        sample = (generator.random(150) < truth).astype(float)
        low, high = bootstrap_interval(sample.tolist(), resamples=300, level=level, seed=seed)
        covered += low <= 100 * truth <= high
    # Three standard errors of a proportion; percentile intervals are a little short on small
    # samples.
    error = 3 * math.sqrt(level * (1 - level) / repetitions)
    assert level - error - 0.02 < covered / repetitions < level + error


def test_interval_has_the_width_of_the_normal_approximation() -> None:
    values = np.random.default_rng(2).normal(0.5, 0.1, 2000)
    low, high = bootstrap_interval(values.tolist(), resamples=4000)
    expected = 100 * 2 * 1.96 * values.std() / math.sqrt(len(values))
    assert high - low == pytest.approx(expected, rel=0.05)


def test_interval_contains_the_mean_and_stays_inside_the_values() -> None:
    draw = random.Random(3)
    for seed in range(100):
        values = [draw.random() for _ in range(draw.randint(2, 60))]
        low, high = bootstrap_interval(values, resamples=200, seed=seed)
        assert low < 100 * sum(values) / len(values) < high
        rounding = 1e-9
        assert 100 * min(values) - rounding <= low
        assert high <= 100 * max(values) + rounding


def test_intervals_without_spread() -> None:
    assert bootstrap_interval([1.0] * 7) == (100.0, 100.0)
    assert bootstrap_interval([0.25]) == (25.0, 25.0)


# --- permutation tests ------------------------------------------------------------------------


def paired_permutation(first: Sequence[float], second: Sequence[float], **options: Any) -> float:
    differences = np.array(first, np.float64) - np.array(second, np.float64)  # (questions,)
    return float(paired_permutations(differences[:, None], **options)[0])


def enumerated_p(first: list[float], second: list[float]) -> float:
    """The exact p-value: all ways to swap the two systems, question by question."""
    differences = [a - b for a, b in zip(first, second, strict=True)]
    observed = abs(sum(differences))
    sums = [
        abs(sum(sign * value for sign, value in zip(signs, differences, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    return sum(value >= observed - 1e-9 for value in sums) / len(sums)


@pytest.mark.parametrize("seed", range(24))
def test_p_is_close_to_the_exact_value(seed: int) -> None:
    draw = random.Random(seed)
    number = 1 + seed % 12
    lift = draw.choice([0.0, 0.3, 0.6])
    levels = [0.0, 0.4, 2 / 3, 1.0]  # few levels: many sums equal the observed one
    first = [min(1.0, draw.choice(levels) + lift) for _ in range(number)]
    second = [draw.choice(levels) for _ in range(number)]
    exact = enumerated_p(first, second)
    # Four standard errors of 10,000 draws, plus the observed one, which is always counted.
    error = 4 * math.sqrt(exact * (1 - exact) / 10_000) + 1e-4
    assert paired_permutation(first, second) == pytest.approx(exact, abs=error)


def test_equal_systems_do_not_differ() -> None:
    assert paired_permutation([0.3, 1.0, 0.0], [0.3, 1.0, 0.0]) == 1.0
    assert paired_permutation([], []) == 1.0
    assert paired_permutation([1.0, 0.0], [0.0, 1.0]) == 1.0  # only the means are equal


def test_a_clear_difference_has_a_small_p_but_never_zero() -> None:
    p = paired_permutation([1.0] * 100, [0.0] * 100)
    assert p == 1 / 10_001
    assert paired_permutation([1.0] * 100, [0.0] * 100, permutations=50) == 1 / 51


def test_p_is_rarely_small_when_nothing_differs() -> None:
    generator = np.random.default_rng(6)
    small = sum(
        paired_permutation(*generator.random((2, 30)).tolist(), permutations=200, seed=seed) <= 0.05
        for seed in range(400)
    )
    assert 0.02 < small / 400 < 0.09


def test_equal_sums_count_as_extreme() -> None:
    """Ten questions, all won: only one of 512 sign patterns up to a flip is as extreme."""
    found = paired_permutations(np.full((10, 1), 1 / 3, np.float32), permutations=20_000)
    assert found[0] == pytest.approx(2 / 1024, abs=0.001)


def test_paired_t() -> None:
    from scipy import stats

    first, second = [70.1, 71.0, 69.5, 70.4], [69.0, 70.2, 69.4, 69.1]
    differences = np.subtract(first, second)
    t = differences.mean() / (differences.std(ddof=1) / 2)
    assert paired_t(first, second) == pytest.approx(2 * stats.t.sf(t, 3))
    assert paired_t([1.0], [2.0]) is None
    assert paired_t([1.0, 2.0], [1.0, 2.0]) == 1.0
    assert paired_t([1.0, 2.0], [0.0, 1.0]) is None
    # Three of 84 questions more for every seed: differences that are equal up to rounding.
    base = [100 * n / 84 for n in (40, 45, 47)]
    assert paired_t([100 * n / 84 for n in (43, 48, 50)], base) is None


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.6]) == [1.0, 1.0]
    assert holm([]) == []
    assert holm([0.2]) == [0.2]
