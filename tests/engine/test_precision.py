"""Training in half precision gives the same losses as in float32."""

import json
import math
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from readlet.engine.checkpoint import TrainingState
from readlet.engine.loop import TrainingLoop
from readlet.engine.precision import MixedPrecision, _works_on_cpu, check_precision
from readlet.engine.weight_selection import Average
from readlet.errors import ReadletError
from readlet.models.recipe_files import load_recipe
from readlet.training.train import train_reader

MakeLoop = Callable[..., TrainingLoop]
CPU = torch.device("cpu")
CRASH = "import os, signal; os.kill(os.getpid(), signal.SIGILL)"


class Interrupted(nn.Module):
    """Sends an interrupt in the eighth step."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner
        self.calls = 0

    def forward(self, batch: Any) -> Tensor:
        self.calls += 1
        if self.calls == 8:
            signal.raise_signal(signal.SIGINT)
        loss: Tensor = self.inner(batch)
        return loss


def needs(precision: str) -> None:
    """Skip where this build of PyTorch lacks that precision on the CPU."""
    try:
        check_precision(precision, CPU)  # type: ignore[arg-type]
    except ReadletError as error:
        pytest.skip(str(error))


def losses(make_loop: MakeLoop, folder: Path, precision: str) -> list[float]:
    settings = ["training.learning_rate=0.003", "training.warmup_steps=3", "model.dropout=0"]
    settings += ["model.character_dropout=0", "model.last_survival=1", "training.batch_size=16"]
    loop = make_loop(folder, *settings, "training.epochs=3", f"training.precision={precision}")
    found = [float(loop.advance()[0]) for _ in range(loop.total_steps)]
    assert all(p.dtype == torch.float32 for p in loop.module.parameters())
    assert all(bool(torch.isfinite(p).all()) for p in loop.module.parameters())
    return found


@pytest.fixture(scope="module")
def exact(make_loop: MakeLoop, tmp_path_factory: pytest.TempPathFactory) -> list[float]:
    return losses(make_loop, tmp_path_factory.mktemp("float32"), "float32")


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_converges_as_float32_does(
    make_loop: MakeLoop, tmp_path: Path, exact: list[float], precision: str
) -> None:
    needs(precision)
    short = losses(make_loop, tmp_path, precision)
    assert short != exact  # it did run in another precision
    last = len(exact) // 3  # steps of the last epoch

    def mean(values: list[float]) -> float:
        return sum(values) / len(values)

    assert mean(exact[-last:]) < 0.7 * mean(exact[:last])
    assert mean(short[-last:]) == pytest.approx(mean(exact[-last:]), rel=0.1)


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16"])
def test_products_run_in_the_chosen_dtype(name: str) -> None:
    needs(name)
    precision = MixedPrecision(name, CPU)  # type: ignore[arg-type]
    with precision.autocast():
        assert nn.Linear(2, 2)(torch.ones(1, 2)).dtype == getattr(torch, name)
    assert precision.is_scaled == (name == "float16")


def take_step(
    precision: MixedPrecision, weight: nn.Parameter, optimizer: torch.optim.Optimizer, factor: float
) -> None:
    optimizer.zero_grad()
    precision.backward((weight * factor).sum())
    precision.clip(optimizer, 1e9)
    precision.step(optimizer)


def test_an_overflowing_step_is_skipped_and_the_scale_lowered() -> None:
    precision = MixedPrecision("float16", CPU)
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.5)
    scale = precision.scaler.get_scale()
    take_step(precision, weight, optimizer, 1e38)  # times the scale: overflows float32
    assert torch.equal(weight, torch.ones(3))
    assert precision.scaler.get_scale() == scale / 2
    take_step(precision, weight, optimizer, 1.0)
    torch.testing.assert_close(weight.detach(), torch.full((3,), 0.5))
    assert precision.scaler.get_scale() == scale / 2


def test_gradients_are_clipped_after_unscaling() -> None:
    """Clipping scaled gradients would make every step tiny."""
    precision = MixedPrecision("float16", CPU)
    weight = nn.Parameter(torch.zeros(4))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    precision.backward((weight * 3.0).sum())  # norm 6
    precision.clip(optimizer, 1.5)
    precision.step(optimizer)
    torch.testing.assert_close(weight.detach(), torch.full((4,), -0.75))


def scaled_state(weight: nn.Parameter) -> tuple[MixedPrecision, torch.optim.Adam, TrainingState]:
    precision = MixedPrecision("float16", CPU)
    optimizer = torch.optim.Adam([weight])
    named = {"weight": weight}
    state = TrainingState(named, optimizer, Average(named, 0.9).shadow, precision.scaler)
    return precision, optimizer, state


def test_the_state_includes_the_scale() -> None:
    weight = nn.Parameter(torch.ones(3))
    precision, optimizer, state = scaled_state(weight)
    for factor in (1e38, 1e38, 1.0, 1.0, 1.0):
        take_step(precision, weight, optimizer, factor)
    stored = state.tensors()
    assert float(stored["scale"]) == 65536 / 4
    assert float(stored["growth"]) == 3  # good steps since the last overflow
    assert float(stored["adam_steps"]) == 3  # skipped steps do not count

    for used in (False, True):  # a scaler that has not scaled yet, and one that has
        other_weight = nn.Parameter(torch.zeros(3))
        other, other_optimizer, other_state = scaled_state(other_weight)
        if used:
            take_step(other, other_weight, other_optimizer, 1.0)
        other_state.restore(stored)
        assert torch.equal(other_weight, weight)
        found = other_state.tensors()
        assert all(torch.equal(t, stored[name]) for name, t in found.items())
        take_step(other, other_weight, other_optimizer, 1e38)
        assert other.scaler.get_scale() == 65536 / 8


def read_checks(folder: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [line for line in lines if "loss" in line]


def too_high(loop: TrainingLoop, scale: float) -> TrainingLoop:
    state = loop.state.tensors()
    state["scale"] = torch.tensor(scale)
    loop.state.restore(state)
    return loop


def test_skipped_steps_are_logged(make_loop: MakeLoop, tmp_path: Path) -> None:
    """As many as halvings of the scale, each at its check; also where a run was stopped."""
    needs("float16")
    settings = ("training.precision=float16", "training.log_every=6")

    whole = too_high(make_loop(tmp_path / "whole", *settings), 2.0**20)
    whole.run()
    checks = read_checks(tmp_path / "whole")
    assert [line["step"] for line in checks] == [6, 12, 15]
    assert checks[0]["skipped_steps"] > 0
    assert checks[-1]["skipped_steps"] < 3  # it has found its scale
    before = 20
    for line in checks:
        assert math.log2(line["scale"]) == before - line["skipped_steps"]
        before = math.log2(line["scale"])
    assert whole.state.updates() == 15 - sum(line["skipped_steps"] for line in checks)

    stopped = too_high(make_loop(tmp_path / "stopped", *settings, wrap=Interrupted), 2.0**20)
    with pytest.raises(KeyboardInterrupt):
        stopped.run()
    assert stopped.progress.step == 8
    resumed = make_loop(tmp_path / "stopped", *settings, wrap=Interrupted)  # seven steps: no more
    resumed.resume()
    resumed.run()
    for line, wanted in zip(read_checks(tmp_path / "stopped"), checks, strict=True):
        assert line["skipped_steps"] == wanted["skipped_steps"]
        assert line["scale"] == wanted["scale"]


@pytest.mark.parametrize("program", ["raise RuntimeError('could not create a primitive')", CRASH])
def test_an_unsupported_precision_is_reported_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    command = [sys.executable, "-c", program]
    monkeypatch.setattr("readlet.engine.precision.own_command", lambda *_: command)
    # What was found before is neither used nor forgotten: to find it, torch is imported again.
    again = _works_on_cpu.__wrapped__
    monkeypatch.setattr("readlet.engine.precision._works_on_cpu", again)
    recipe = load_recipe("tiny", ["training.precision=bfloat16"])
    with pytest.raises(ReadletError, match=r"^training\.precision=bfloat16: "):
        train_reader(recipe, tmp_path / "run", resume=False)
    assert not (tmp_path / "run").exists()
