"""The guard: what counts as a bad loss, and how training continues after one."""

import json
import math
from collections.abc import Callable
from contextlib import nullcontext
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from readlet.engine import loop as loop_module
from readlet.engine.checkpoint import Checkpoint, Guard, Progress, save_checkpoint
from readlet.engine.loop import TrainingLoop
from readlet.errors import FailedTrainingError
from readlet.recipe.recipe import Training

MakeLoop = Callable[..., TrainingLoop]
GUESSING = 12.0


def guard_at(mean: float | None, **counts: int) -> Guard:
    progress = Progress(mean_loss=mean, **counts)
    return Guard(Training(spike=3.0, log_every=10), GUESSING, progress, {})


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("mean", [None, 4.0])
def test_not_finite(loss: float, mean: float | None) -> None:
    assert guard_at(mean).is_bad(loss)


@pytest.mark.parametrize(
    ("mean", "loss", "bad"),
    [
        *((4.0, 0.0, False), (4.0, 9.0, False), (4.0, 9.1, True), (4.0, 1e30, True)),
        *((0.001, 0.5, False), (0.001, 1.1, True)),  # noise around zero is not a spike
        *((None, GUESSING + 4.9, False), (None, GUESSING + 5.1, True)),
    ],
)
def test_spike(mean: float | None, loss: float, bad: bool) -> None:
    """The first loss has no mean: it is compared with guessing."""
    assert guard_at(mean).is_bad(loss) is bad


def test_rollbacks_are_counted_and_a_good_loss_resets_their_row() -> None:
    progress = Progress(step=30)
    good = {"weight": torch.ones(2)}
    guard = Guard(Training(log_every=10), GUESSING, progress, good)
    for row in (1, 2):
        assert guard.roll_back() is good
        assert (progress.rollbacks, progress.rollbacks_in_a_row) == (row, row)
    guard.accept(4.0)
    assert (progress.rollbacks, progress.rollbacks_in_a_row) == (2, 0)


@pytest.mark.parametrize(
    ("step", "rollbacks", "in_a_row", "fails"),
    [
        (1000, 4, 4, False),
        (1000, 5, 5, True),  # the sixth in a row
        (150, 5, 0, True),  # the sixth of 15 checks
        (180, 5, 0, False),  # of 18: a third
    ],
)
def test_divergence(step: int, rollbacks: int, in_a_row: int, fails: bool) -> None:
    guard = guard_at(4.0, step=step, rollbacks=rollbacks, rollbacks_in_a_row=in_a_row)
    with pytest.raises(FailedTrainingError, match="5 rollbacks; lower") if fails else nullcontext():
        guard.roll_back()


class Faulty(nn.Module):
    """Multiplies the loss by a factor at some of its calls."""

    def __init__(self, inner: nn.Module, faults: Callable[[int], float]) -> None:
        super().__init__()
        self.inner = inner
        self.faults = faults
        self.calls = 0

    def forward(self, batch: Any) -> Tensor:
        self.calls += 1
        loss: Tensor = self.inner(batch) * self.faults(self.calls)
        return loss


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> dict[int, Checkpoint]:
    """Every checkpoint that is written, by step."""
    found: dict[int, Checkpoint] = {}

    def record(folder: Path, checkpoint: Checkpoint, **named: Any) -> None:
        found[checkpoint.progress.step] = deepcopy(checkpoint)
        save_checkpoint(folder, checkpoint, **named)

    monkeypatch.setattr(loop_module, "save_checkpoint", record)
    return found


def read_log(folder: Path) -> list[dict[str, Any]]:
    def refuse(name: str) -> float:
        raise AssertionError(f"{name} is not JSON")

    lines = (folder / "log.jsonl").read_text().splitlines()
    return [json.loads(line, parse_constant=refuse) for line in lines]


def is_finite(checkpoint: Checkpoint) -> bool:
    return all(bool(torch.isfinite(t).all()) for t in checkpoint.tensors.values())


@pytest.mark.parametrize("fault", [math.nan, math.inf, 1000.0])
def test_rolls_back_and_continues(
    make_loop: MakeLoop,
    tmp_path: Path,
    saved: dict[int, Checkpoint],
    capsys: pytest.CaptureFixture[str],
    fault: float,
) -> None:
    loop = make_loop(
        tmp_path,
        *("training.log_every=2", "training.checkpoint_every=4", "training.clip=1e9"),
        wrap=lambda module: Faulty(module, lambda call: fault if call == 7 else 1.0),
    )
    outcome = loop.run()
    assert (outcome.steps, outcome.rollbacks) == (15, 1)
    assert set(saved) == {4, 8, 12, 15}
    # step 7 spoilt the weights, the check after step 8 restored those of step 4
    assert all(torch.equal(t, saved[4].tensors[n]) for n, t in saved[8].tensors.items())
    assert not all(torch.equal(t, saved[8].tensors[n]) for n, t in saved[12].tensors.items())
    assert all(is_finite(checkpoint) for checkpoint in saved.values())
    assert all(bool(torch.isfinite(p).all()) for p in loop.module.parameters())
    lines = read_log(tmp_path)
    (rollback,) = [line for line in lines if "rollback" in line]
    assert rollback["rollback"] is True
    assert rollback["step"] == 8
    checks = [line["step"] for line in lines if "learning_rate" in line]
    assert checks == [2, 4, 6, 10, 12, 14, 15]
    messages = [line for line in capsys.readouterr().err.splitlines() if "rolled back" in line]
    assert len(messages) == 1
    assert messages[0].startswith("step 8: loss ")


@pytest.mark.parametrize("evaluate_every", [0.1, 1.0])
def test_no_checkpoint_of_a_spoilt_state(
    make_loop: MakeLoop, tmp_path: Path, saved: dict[int, Checkpoint], evaluate_every: float
) -> None:
    """Checkpoints may come more often than checks: between the fault and its discovery too."""
    loop = make_loop(
        tmp_path,
        *("training.log_every=6", "training.checkpoint_every=2"),
        f"training.evaluate_every={evaluate_every}",
        wrap=lambda module: Faulty(module, lambda call: math.nan if call == 3 else 1.0),
    )
    assert loop.run().rollbacks == 1
    assert set(saved) == {2, 6, 8, 10, 12, 14, 15}  # not 4
    assert all(is_finite(checkpoint) for checkpoint in saved.values())
    assert all(torch.equal(t, saved[2].tensors[n]) for n, t in saved[6].tensors.items())


@pytest.mark.parametrize(
    ("factor", "every", "rollbacks"),
    [
        (math.nan, 1, None),
        (1e6, 1, None),
        (math.nan, 2, None),  # good and bad checks alternate
        (math.nan, 8, 7),  # a few in a long run are no divergence
    ],
)
def test_gives_up_in_the_end(
    make_loop: MakeLoop, tmp_path: Path, factor: float, every: int, rollbacks: int | None
) -> None:
    loop = make_loop(
        tmp_path,
        *("training.log_every=1", "training.epochs=4"),
        wrap=lambda module: Faulty(module, lambda call: 1.0 if call % every else factor),
    )
    if rollbacks is not None:
        assert loop.run().rollbacks == rollbacks
        return
    with pytest.raises(FailedTrainingError, match="diverges: 5 rollbacks"):
        loop.run()
    assert sum("rollback" in line for line in read_log(tmp_path)) == 5
