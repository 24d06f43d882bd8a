"""The engine's interface to data: batches of tensors, and a source of batches for each epoch."""

from collections.abc import Sequence
from dataclasses import Field, fields
from typing import Any, ClassVar, Protocol, Self

import torch
from torch import Tensor

from readlet.errors import ReadletError

Shape = Any
"""Hashable, otherwise opaque to the engine. Batches of one shape have tensors of few sizes."""
Rows = Any
"""The examples of a batch. The engine uses only their number, `len(rows)`."""


class Batch(Protocol):
    """A frozen dataclass whose fields are all tensors."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def to(self, device: torch.device) -> Self: ...

    def part(self, index: int, parts: int) -> Self:
        """The share of one of several processes; the mean of their losses is the whole loss."""
        ...


class BatchSource(Protocol):
    """Batches of a data set, in an order that depends on the epoch's number only."""

    def epoch(self, number: int) -> Sequence[tuple[Shape, Rows]]: ...

    def make(self, shape: Shape, rows: Rows) -> Batch: ...

    @property
    def guessing(self) -> float:
        """The loss, in nats, of a model that guesses at random."""
        ...


class BatchPlan:
    """Which batches belong to which step."""

    def __init__(self, source: BatchSource, accumulate: int) -> None:
        self._source = source
        self._accumulate = accumulate
        self._epochs: dict[int, Sequence[tuple[Shape, Rows]]] = {}  # only the current epoch's
        batches = len(self._of_epoch(0))
        if not batches:
            raise ReadletError("data.train: no training examples; name other files")
        self.steps_per_epoch = -(-batches // accumulate)

    def of_step(self, step: int) -> Sequence[tuple[Shape, Rows]]:
        """The batches of a step, counted from 1."""
        epoch, position = divmod(step - 1, self.steps_per_epoch)
        first = position * self._accumulate
        return self._of_epoch(epoch)[first : first + self._accumulate]

    def one_of_each_shape(self) -> list[tuple[Shape, Rows]]:
        return list(dict(self._of_epoch(0)).items())

    def _of_epoch(self, number: int) -> Sequence[tuple[Shape, Rows]]:
        if number not in self._epochs:
            self._epochs = {number: self._source.epoch(number)}
        return self._epochs[number]


def tensors_of(batch: Batch) -> dict[str, Tensor]:
    return {field.name: getattr(batch, field.name) for field in fields(batch)}
