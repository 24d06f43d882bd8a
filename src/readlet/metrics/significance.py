"""How sure a score is, and whether two systems differ by more than chance."""

from collections.abc import Sequence

import numpy as np

_BATCH = 100  # resamples at a time: bounds the memory


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
