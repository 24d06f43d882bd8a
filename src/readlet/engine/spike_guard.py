"""Losses, steps and time since the last check of the guard.

The guard checks the loss: NaN or a sudden spike means that a step went wrong.
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from readlet.engine.checkpoint import Progress
from readlet.errors import FailedTrainingError
from readlet.recipe.recipe import Training


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


_SMOOTHING = 0.9  # of the running mean
# In nats. Once a model has memorised its data, any relative increase may be noise. And from a
# medium loss no factor reaches the loss of random guessing, 2 log(length of the passage).
_NOTEWORTHY, _ALARMING = 1.0, 5.0
_MAX_ROLLBACKS = 5


class Guard:
    """Decides whether a loss is bad, and which state is restored after a bad one."""

    def __init__(
        self, settings: Training, guessing: float, progress: Progress, good: dict[str, Tensor]
    ) -> None:
        self._spike = settings.spike
        self._log_every = settings.log_every
        self._guessing = guessing
        self._progress = progress  # has the mean and the counts, so that they are resumed
        self.good = good  # the state of the last regular checkpoint, or the initial one

    def is_bad(self, loss: float) -> bool:
        """Whether a loss is not finite, or far above the running mean (by the factor `spike`).

        The first loss has no mean: it is compared with the loss of random guessing.
        """
        mean = self._progress.mean_loss
        if not math.isfinite(loss):
            return True
        if mean is None:
            return loss - self._guessing > _ALARMING
        return loss - mean > min(max((self._spike - 1.0) * mean, _NOTEWORTHY), _ALARMING)

    def accept(self, loss: float) -> None:
        """Add a good loss to the running mean."""
        mean = self._progress.mean_loss
        self._progress.mean_loss = (
            loss if mean is None else _SMOOTHING * mean + (1 - _SMOOTHING) * loss
        )
        self._progress.rollbacks_in_a_row = 0

    def roll_back(self) -> dict[str, Tensor]:
        """Count a rollback and return the state to restore; an error if there were too many."""
        self._progress.rollbacks += 1
        self._progress.rollbacks_in_a_row += 1
        if self._diverges():
            raise FailedTrainingError(
                f"training diverges: {self._progress.rollbacks - 1} rollbacks; "
                "lower training.learning_rate or raise training.warmup_steps"
            )
        return self.good

    def _diverges(self) -> bool:
        """Too many rollbacks in a row, or at more than a third of all checks so far."""
        if self._progress.rollbacks_in_a_row > _MAX_ROLLBACKS:
            return True
        checks = -(-self._progress.step // self._log_every)
        return self._progress.rollbacks > max(_MAX_ROLLBACKS, checks / 3)
