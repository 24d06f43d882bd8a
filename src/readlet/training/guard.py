"""The guard watches the loss: NaN, or a sudden jump, means that a step went wrong."""

import math

from torch import Tensor

from readlet.errors import FailedTrainingError
from readlet.recipe.recipe import Training
from readlet.training.checkpoint import Progress

_SMOOTHING = 0.9  # of the running mean
# In nats. Once a model knows its data by heart any factor is mere noise; and from a middling loss
# no factor reaches the loss of guessing, twice the logarithm of a passage's length, say.
_NOTEWORTHY, _ALARMING = 1.0, 5.0
_MAX_ROLLBACKS = 5


class Guard:
    """Decides whether a loss is bad, and where training goes back to after a bad one."""

    def __init__(
        self, settings: Training, guessing: float, progress: Progress, good: dict[str, Tensor]
    ) -> None:
        self._spike = settings.spike
        self._log_every = settings.log_every
        self._guessing = guessing
        self._progress = progress  # the mean and the counts are kept there, to be resumed
        self.good = good  # the state of the last regular checkpoint, or of the beginning

    def is_bad(self, loss: float) -> bool:
        """Whether a loss is not finite, or exceeds the running mean by far: by the factor `spike`.

        The first one has no mean before it: that must not exceed the loss of guessing by far.
        """
        mean = self._progress.mean_loss
        if not math.isfinite(loss):
            return True
        if mean is None:
            return loss - self._guessing > _ALARMING
        return loss - mean > min(max((self._spike - 1.0) * mean, _NOTEWORTHY), _ALARMING)

    def accept(self, loss: float) -> None:
        """A good loss joins the running mean."""
        mean = self._progress.mean_loss
        self._progress.mean_loss = (
            loss if mean is None else _SMOOTHING * mean + (1 - _SMOOTHING) * loss
        )
        self._progress.rollbacks_in_a_row = 0

    def roll_back(self) -> dict[str, Tensor]:
        """Count a rollback: the state to go back to, unless there were too many."""
        self._progress.rollbacks += 1
        self._progress.rollbacks_in_a_row += 1
        if self._diverges():
            raise FailedTrainingError(
                f"training diverges: {self._progress.rollbacks - 1} rollbacks; "
                "lower training.learning_rate or raise training.warmup_steps"
            )
        return self.good

    def _diverges(self) -> bool:
        """Rolled back again and again, in a row or at a third of all checks so far."""
        if self._progress.rollbacks_in_a_row > _MAX_ROLLBACKS:
            return True
        checks = -(-self._progress.step // self._log_every)
        return self._progress.rollbacks > max(_MAX_ROLLBACKS, checks / 3)
