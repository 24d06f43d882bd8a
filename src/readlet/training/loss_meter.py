"""Losses, steps and time since the last check of the guard."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from readlet.training.checkpoint import Progress


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
