"""Rows to batches of a few fixed shapes: compiled steps are reused and padding stays small."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from readlet.encoding.rows import Ints

Shape = tuple[int, ...]
"""Padded lengths of a batch, one for each dimension that varies."""
Arrays = dict[str, NDArray[Any]]
"""The inputs of a model by name."""


def padded(values: NDArray[Any], pieces: Ints, shape: tuple[int, int]) -> NDArray[Any]:
    """Pieces (first, count) of a long array as rows, padded with zeros: (rows, 2) -> (B, L)."""
    table = np.zeros(shape, values.dtype)  # (B, L)
    for i, (first, count) in enumerate(pieces):
        table[i, :count] = values[first : first + count]
    return table


Batch = TypeVar("Batch")


class Batches(Generic[Batch]):
    """Batches of a data set, in a shuffled order that depends on seed and epoch only.

    `lengths` are the lengths of each row, (rows, dimensions). `shapes` are listed smallest first;
    every row fits into the last one. `collate(shape, rows, size)` makes a batch: if there are fewer
    rows than `size`, it adds empty rows of weight 0, so that the shape never changes.
    """

    def __init__(
        self,
        lengths: Ints,
        shapes: Sequence[Shape],
        batch_size: int,
        collate: Callable[[Shape, Ints, int], Batch],
        *,
        trainable: Ints,
        guessing: float = np.inf,
        seed: int = 0,
    ) -> None:
        self.batch_size = batch_size
        self.guessing = guessing  # loss of a model that guesses at random
        self._shapes = list(shapes)
        self._collate = collate
        self._trainable = trainable
        self._lengths = lengths
        self._seed = seed
        fits = np.stack([(lengths <= np.array(s)).all(axis=1) for s in shapes])  # (shapes, rows)
        self._shape_of_row: NDArray[np.int64] = np.argmax(fits, axis=0)  # (rows,)

    def epoch(self, number: int) -> list[tuple[Shape, Ints]]:
        """The batches of an epoch: rows of one shape each, full except the last of each shape."""
        generator = np.random.default_rng((self._seed, number))
        rows = generator.permutation(self._trainable)
        batches = self._cut(rows)
        return [batches[i] for i in generator.permutation(len(batches))]

    def in_order(self) -> list[tuple[Shape, Ints]]:
        """All rows, for prediction; long ones first, so that memory runs out at once or never."""
        return self._cut(np.arange(len(self._shape_of_row), dtype=np.int32))[::-1]

    def by_length(self, places: int) -> list[Ints]:
        """All rows, the longest first, in batches of at most so many places with their padding.

        And of at most the batch size; a longer row is a batch of its own. The first length counts
        before the others: it is that of the context, where padding costs most.
        """
        order = np.lexsort(-self._lengths.T[::-1]).astype(np.int32)  # (rows,)
        cuts, start = [], 0
        while start < len(order):
            most = self._lengths[order[start : start + self.batch_size]]  # (rows, dimensions)
            most = np.maximum.accumulate(most, axis=0).sum(axis=1)  # (rows,)
            fits = np.arange(1, len(most) + 1) * most <= places  # (rows,)
            count = max(1, int(fits.sum()))
            cuts.append(order[start : start + count])  # (B,)
            start += count
        return cuts

    def places(self) -> int:
        """Of all rows, without padding."""
        return int(self._lengths.sum())

    def least_shape(self, rows: Ints) -> Shape:
        """The least padding for these rows, for a model to which every shape is the same."""
        return tuple(self._lengths[rows].max(axis=0).clip(min=1).tolist())

    def make(self, shape: Shape, rows: Ints, *, filled: bool = True) -> Batch:
        """A batch of the full size; not `filled`, of these rows only, where no shape is reused."""
        return self._collate(shape, rows, self.batch_size if filled else len(rows))

    def __iter__(self) -> Iterator[Batch]:
        return (self.make(shape, rows) for shape, rows in self.in_order())

    def _cut(self, rows: Ints) -> list[tuple[Shape, Ints]]:
        cut = []
        for number, shape in enumerate(self._shapes):
            members = rows[self._shape_of_row[rows] == number]
            for start in range(0, len(members), self.batch_size):
                cut.append((shape, members[start : start + self.batch_size]))  # noqa: PERF401
        return cut
