"""Exact resume with rollbacks: a run that is stopped and rolls back gives the same weights."""

import math
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from readlet.engine.checkpoint import find_checkpoint
from readlet.engine.loop import TrainingLoop

MakeLoop = Callable[..., TrainingLoop]

SETTINGS = [
    *("training.batch_size=4", "training.log_every=2", "training.checkpoint_every=20"),
    *("training.learning_rate=0.003", "training.warmup_steps=0", "training.schedule=constant"),
]
STEPS = 30
# Rolled back at 16, to the initial weights, and at 28, to those of step 20.
BAD_STEPS = (15, 27)


class Unsteady(nn.Module):
    """Its loss is NaN at some steps; it is stopped in the middle of others."""

    def __init__(
        self, inner: nn.Module, done: Callable[[], int], stop: int, *, crash: bool
    ) -> None:
        super().__init__()
        self.inner = inner
        self.done = done
        self.stop = stop
        self.crash = crash

    def forward(self, batch: Any) -> Tensor:
        step = self.done() + 1
        if step == self.stop:
            if self.crash:
                raise MemoryError
            signal.raise_signal(signal.SIGINT)
        loss: Tensor = self.inner(batch) * (math.nan if step in BAD_STEPS else 1.0)  # ()
        return loss


def make(make_loop: MakeLoop, folder: Path, stop: int = 0, *, crash: bool = False) -> TrainingLoop:
    def wrap(module: nn.Module) -> nn.Module:
        return Unsteady(module, lambda: loop.progress.step, stop, crash=crash)

    loop: TrainingLoop = make_loop(folder, *SETTINGS, wrap=wrap)
    loop.resume()
    return loop


@pytest.fixture(scope="module")
def whole(make_loop: MakeLoop, tmp_path_factory: pytest.TempPathFactory) -> TrainingLoop:
    loop = make(make_loop, tmp_path_factory.mktemp("whole"))
    outcome = loop.run()
    assert (outcome.steps, outcome.rollbacks) == (STEPS, len(BAD_STEPS))
    return loop


@pytest.mark.parametrize(
    ("interrupted", "crashed", "saved"),
    [
        ([13], 0, 13),  # between two checks, before the first checkpoint and the first rollback
        ([3, 11, 13], 0, 13),  # again and again
        ([11], 14, 11),
        ([15], 0, 0),  # in a window that the next check rejects: nothing is saved
        ([17], 0, 17),  # after the rollback
        ([21], 0, 21),  # after a regular checkpoint, before the second rollback
        ([23], 28, 23),
        ([27], 0, 20),
    ],
)
def test_rolls_back_to_the_same_state(
    make_loop: MakeLoop,
    tmp_path: Path,
    whole: TrainingLoop,
    interrupted: list[int],
    crashed: int,
    saved: int,
) -> None:
    for step in interrupted:
        with pytest.raises(KeyboardInterrupt):
            make(make_loop, tmp_path, step).run()
    if crashed:
        with pytest.raises(MemoryError):
            make(make_loop, tmp_path, crashed, crash=True).run()
    newest = tmp_path / f"checkpoint-{saved:08d}" if saved else None
    assert find_checkpoint(tmp_path) == newest
    resumed = make(make_loop, tmp_path)
    assert resumed.progress.step == saved
    resumed.run()
    assert resumed.progress == whole.progress
    found, wanted = resumed.state.tensors(), whole.state.tensors()
    assert [name for name, t in found.items() if not torch.equal(t, wanted[name])] == []
