"""One optimiser step: its batches, and how it updates the weights and their average.

On a GPU small networks are bound by kernel launches, not by arithmetic. So the whole step is
captured as a CUDA graph, once for every shape of batch, and replayed with one launch.
"""

from collections.abc import Sequence
from dataclasses import Field, fields, replace
from typing import Any, ClassVar, Protocol, Self

import torch
from torch import Tensor, nn

from readlet.engine.checkpoint import TrainingState
from readlet.engine.optimiser import MixedPrecision
from readlet.engine.weight_selection import Average
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


_Sizes = tuple[torch.Size, ...]


class EagerStep:
    """A step in eager mode; it runs on every device."""

    def __init__(
        self,
        module: nn.Module,
        optimizer: torch.optim.Adam,
        average: Average,
        precision: MixedPrecision,
        clip: float,
        rates: Sequence[float] = (1.0,),  # factor of the learning rate in each parameter group
    ) -> None:
        self.module = module
        self.optimizer = optimizer
        self.average = average
        self.precision = precision
        self.clip = clip
        self._rates: list[tuple[Tensor, float]] = [  # () each
            (group["lr"], rate) for group, rate in zip(optimizer.param_groups, rates, strict=True)
        ]
        self._average_rate = torch.zeros_like(self._rates[0][0])  # ()

    def __call__(self, batches: list[Batch], learning_rate: float, step: int) -> Tensor:
        """The mean loss of prepared batches, still on the device: reading it would block."""
        self._set_rates(learning_rate, step)
        return self._compute(batches)

    def prepare(self, batch: Batch) -> None:
        """Prepare for steps with batches of this shape."""

    def _set_rates(self, learning_rate: float, step: int) -> None:
        for rate, factor in self._rates:
            rate.fill_(learning_rate * factor)
        self._average_rate.fill_(self.average.rate(step))

    def _compute(self, batches: list[Batch]) -> Tensor:
        total = torch.zeros_like(self._average_rate)  # ()
        self.optimizer.zero_grad(set_to_none=True)
        for batch in batches:
            with self.precision.autocast():
                loss = self.module(batch) / len(batches)  # ()
            self.precision.backward(loss)
            total += loss.detach()
        self.precision.clip(self.optimizer, self.clip)
        self.precision.step(self.optimizer)
        self.average.update(self._average_rate)
        return total


class GraphStep(EagerStep):
    """The same step as a CUDA graph per shape. Needs one batch per step.

    Loss scaling can be captured too: fused Adam skips a step on the device.
    """

    def __init__(
        self,
        module: nn.Module,
        optimizer: torch.optim.Adam,
        average: Average,
        precision: MixedPrecision,
        clip: float,
        rates: Sequence[float],
        state: TrainingState,
    ) -> None:
        super().__init__(module, optimizer, average, precision, clip, rates)
        self._state = state
        self._captured: dict[_Sizes, tuple[Batch, torch.cuda.CUDAGraph, Tensor]] = {}
        self._pool = torch.cuda.graph_pool_handle()

    def __call__(self, batches: list[Batch], learning_rate: float, step: int) -> Tensor:
        (batch,) = batches
        inputs, graph, loss = self._captured[_sizes(batch)]
        given = tensors_of(batch)
        for name, tensor in tensors_of(inputs).items():
            tensor.copy_(given[name], non_blocking=True)
        self._set_rates(learning_rate, step)
        graph.replay()
        return loss.clone()  # the next replay overwrites it

    def prepare(self, batch: Batch) -> None:
        if _sizes(batch) not in self._captured:
            self._captured[_sizes(batch)] = self._capture(batch)

    def _capture(self, batch: Batch) -> tuple[Batch, torch.cuda.CUDAGraph, Tensor]:
        """Capture a step. The state is restored after the warm-up steps."""
        before = self._state.tensors()
        inputs = replace(batch, **{name: t.clone() for name, t in tensors_of(batch).items()})
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):  # compiles, allocates, chooses kernels
                self._compute([inputs])
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool):
            loss = self._compute([inputs])
        self._state.restore(before)
        return inputs, graph, loss


def can_be_captured(module: nn.Module) -> bool:
    """False if a submodule sets an attribute of this name, because it moves data while it runs."""
    return all(getattr(part, "can_be_captured", True) for part in module.modules())


def _sizes(batch: Batch) -> _Sizes:
    return tuple(tensor.shape for tensor in tensors_of(batch).values())
