"""Training that ends at a moment, for a machine that is rented: the schedule follows the clock.

The rate falls with the steps or with the time, whichever is further, so it is zero at the end even
if fewer epochs fit. Such a run cannot be repeated to the bit; without a moment nothing changes.
"""

import math
import time
from typing import ClassVar

from readlet.engine.loop import TrainingLoop
from readlet.training import train


class TimedLoop(TrainingLoop):
    until: ClassVar[float] = math.inf  # on the clock of time.time
    _begun = 0.0

    def warm_up(self) -> None:
        super().warm_up()
        self._begun = time.time()

    def _share_of_time(self) -> float:
        if self.until == math.inf:
            return 0.0
        return (time.time() - self._begun) / max(self.until - self._begun, 1.0)

    def _rate(self, step: int) -> float:
        if step > self.settings.warmup_steps:
            of_time = round(self.total_steps * self._share_of_time())
            step = min(max(step, of_time), self.total_steps)
        return super()._rate(step)

    def _is_finished(self) -> bool:
        return super()._is_finished() or self._share_of_time() >= 1.0


def end_trainings_at(until: float) -> None:
    """All trainings of this process; an infinite moment never comes."""
    TimedLoop.until = until
    train.TrainingLoop = TimedLoop  # type: ignore[attr-defined, misc]
