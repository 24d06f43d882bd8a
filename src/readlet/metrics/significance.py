"""How sure a score is, and whether two systems differ by more than chance."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_BATCH = 100  # resamples at a time: bounds the memory
_PERMUTATIONS_A_COLUMN = 50
Numbers = NDArray[np.float32]


def bootstrap_interval(
    values: Sequence[float], *, resamples: int = 1000, level: float = 0.95, seed: int = 0
) -> tuple[float, float]:
    """Percentile interval of the mean of `values`, in percent, over resampled questions."""
    sample = np.asarray(values, dtype=np.float64)
    if not len(sample):
        return 0.0, 0.0
    generator = np.random.default_rng(seed)
    means = []
    for done in range(0, resamples, _BATCH):
        rows = min(_BATCH, resamples - done)
        drawn = generator.integers(0, len(sample), (rows, len(sample)), dtype=np.int32)
        means.append(sample[drawn].mean(axis=1))
    tail = 50 * (1 - level)
    low, high = np.percentile(np.concatenate(means), [tail, 100 - tail])
    return 100 * float(low), 100 * float(high)


def paired_permutation(
    first: Sequence[float], second: Sequence[float], *, permutations: int = 10_000, seed: int = 0
) -> float:
    """Two-sided p-value of the mean difference when the two systems' labels are exchangeable."""
    differences = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    differences = differences[differences != 0]  # equal scores never change the sum
    if not len(differences):
        return 1.0
    total = differences.sum()
    generator = np.random.default_rng(seed)
    extreme = 0
    bytes_a_row = -(-len(differences) // 8)
    for done in range(0, permutations, _BATCH):
        rows = min(_BATCH, permutations - done)
        random = generator.integers(0, 256, (rows, bytes_a_row), dtype=np.uint8)
        kept = np.unpackbits(random, axis=1, count=len(differences))  # 1 keeps the sign, 0 flips
        # Kept minus flipped is twice the kept minus all: no array of signs is needed.
        sums = 2.0 * (kept.astype(np.float64) @ differences) - total
        extreme += int((np.abs(sums) >= abs(total) - 1e-9).sum())
    return (extreme + 1) / (permutations + 1)


def bootstrap_intervals(
    values: Numbers, *, resamples: int = 1000, level: float = 0.95, seed: int = 0
) -> NDArray[np.float64]:
    """`bootstrap_interval` of many columns at once, (questions, columns) -> (2, columns).

    All columns see the same resampled questions. In the units of the values.
    """
    generator = np.random.default_rng(seed)
    count = len(values)
    means = []
    for done in range(0, resamples, _BATCH):
        rows = min(_BATCH, resamples - done)
        drawn = generator.integers(0, count, (rows, count))  # (rows, questions)
        flat = (drawn + count * np.arange(rows)[:, None]).ravel()
        times = np.bincount(flat, minlength=rows * count).reshape(rows, count)
        means.append(times.astype(np.float32) @ values / count)  # (rows, columns)
    tail = 50 * (1 - level)
    bounds: NDArray[np.float64] = np.percentile(np.concatenate(means), [tail, 100 - tail], axis=0)
    return bounds


def paired_permutations(
    differences: Numbers, *, permutations: int = 10_000, seed: int = 0
) -> NDArray[np.float64]:
    """`paired_permutation` of many columns of differences at once, (questions, columns).

    With very many columns there are more permutations, or Holm's correction could find nothing.
    """
    permutations = max(permutations, _PERMUTATIONS_A_COLUMN * differences.shape[1])
    total = differences.sum(axis=0)  # (columns,)
    # Rounding must not decide between equal sums.
    limit = np.abs(total) - 1e-4 * np.abs(differences).sum(axis=0).clip(min=1e-6)  # (columns,)
    generator = np.random.default_rng(seed)
    extreme = np.zeros(differences.shape[1], np.int64)  # (columns,)
    bytes_a_row = -(-len(differences) // 8)
    for done in range(0, permutations, _BATCH):
        rows = min(_BATCH, permutations - done)
        random = generator.integers(0, 256, (rows, bytes_a_row), dtype=np.uint8)
        kept = np.unpackbits(random, axis=1, count=len(differences))  # (rows, questions)
        sums = 2.0 * (kept.astype(np.float32) @ differences) - total  # (rows, columns)
        extreme += (np.abs(sums) >= limit).sum(axis=0)
    return (extreme + 1) / (permutations + 1)


def paired_t(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Two-sided p-value of Student's paired test; None when there is no spread to judge by."""
    from scipy.special import stdtr  # scipy.stats takes a second to import

    differences = np.asarray(first) - np.asarray(second)
    if len(differences) < 2:
        return None
    # A few equal differences, equal but for rounding, are chance and not certainty.
    rounding = 1e-9 * max(1.0, float(np.abs([first, second]).max()))
    if np.ptp(differences) <= rounding:
        return 1.0 if abs(differences[0]) <= rounding else None
    count = len(differences)
    t = differences.mean() / (differences.std(ddof=1) / np.sqrt(count))
    return float(2 * stdtr(count - 1, -abs(t)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction: the chance of any false alarm among all of them stays below the level."""
    order = np.argsort(p_values)
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = largest
    return corrected
