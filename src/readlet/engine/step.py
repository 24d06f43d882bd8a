"""One optimiser step: its batches, how it updates the weights and their average, and its loss.

On a GPU small networks are bound by kernel launches, not by arithmetic. So the whole step is
captured as a CUDA graph, once for every shape of batch, and replayed with one launch.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import Field, dataclass, fields, replace
from typing import Any, ClassVar, Protocol, Self

import torch
from torch import Tensor, nn

from readlet.engine.checkpoint import Progress, TrainingState
from readlet.engine.optimiser import Average, MixedPrecision
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


@dataclass(eq=False)
class EagerStep:
    """A step in eager mode; it runs on every device."""

    module: nn.Module
    optimizer: torch.optim.Adam
    average: Average
    precision: MixedPrecision
    clip: float
    rates: Sequence[float]  # factor of the learning rate in each parameter group

    def __post_init__(self) -> None:
        self._average_rate = torch.zeros_like(self.optimizer.param_groups[0]["lr"])  # ()

    def __call__(self, batches: list[Batch], learning_rate: float, step: int) -> Tensor:
        """The mean loss of prepared batches, still on the device: reading it would block."""
        self._set_rates(learning_rate, step)
        return self._compute(batches)

    def prepare(self, batch: Batch) -> None:
        """Prepare for steps with batches of this shape."""

    def _set_rates(self, learning_rate: float, step: int) -> None:
        for group, factor in zip(self.optimizer.param_groups, self.rates, strict=True):
            group["lr"].fill_(learning_rate * factor)
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


@dataclass(eq=False)
class GraphStep(EagerStep):
    """The same step as a CUDA graph per shape. Needs one batch per step.

    Loss scaling can be captured too: fused Adam skips a step on the device.
    """

    state: TrainingState

    def __post_init__(self) -> None:
        super().__post_init__()
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
        before = self.state.tensors()
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
        self.state.restore(before)
        return inputs, graph, loss


def can_be_captured(module: nn.Module) -> bool:
    """False if a submodule sets an attribute of this name, because it moves data while it runs."""
    return all(getattr(part, "can_be_captured", True) for part in module.modules())


def _sizes(batch: Batch) -> _Sizes:
    return tuple(tensor.shape for tensor in tensors_of(batch).values())


class LossMeter:
    """Losses and time since the last check. The sum stays on the device until the next check."""

    def __init__(self, device: torch.device, progress: Progress) -> None:
        self.total = torch.zeros((), device=device)  # ()
        self.clear()
        # A run that was stopped between two checks continues with the losses so far.
        self.total += progress.window_loss
        self.steps = progress.window_steps

    def clear(self) -> None:
        self.total = torch.zeros_like(self.total)  # ()
        self.steps = 0
        self.examples = 0
        self.start()

    def start(self) -> None:
        """Start the clock: earlier time does not count."""
        self._since = time.perf_counter()

    def add(self, loss: torch.Tensor, examples: int) -> None:
        self.total += loss
        self.steps += 1
        self.examples += examples

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the clock: time inside the `with` does not count."""
        began = time.perf_counter()
        yield
        self._since += time.perf_counter() - began

    def seconds(self) -> float:
        return max(time.perf_counter() - self._since, 1e-9)
