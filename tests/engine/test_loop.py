"""The loop: what it logs, when it stops, and that resuming gives the same weights."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from readlet.engine.checkpoint import find_checkpoint, load_checkpoint
from readlet.engine.loop import Outcome, Scores, TrainingLoop
from readlet.engine.processes import stop_signals
from readlet.errors import FailedTrainingError

MakeLoop = Callable[..., TrainingLoop]

# An epoch of 15 batches has 8 steps, the last of them with a single batch.
HARD = [
    *("training.epochs=2", "training.accumulate=2", "training.log_every=4"),
    *("training.checkpoint_every=5", "training.evaluate_every=0.5"),
    *('words.languages=["en", "es"]', "model.language_characters=film"),
]


def read_log(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def reproducible(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without values that depend on the speed of the machine."""
    passing = ("examples_per_second", "memory_mib", "seconds")
    return [{k: v for k, v in line.items() if k not in passing} for line in lines]


class Interrupted(nn.Module):
    """Runs an action at one of its calls, in the middle of a step."""

    def __init__(self, inner: nn.Module, call: int, action: Callable[[], None]) -> None:
        super().__init__()
        self.inner = inner
        self.call = call
        self.action = action
        self.calls = 0

    def forward(self, batch: Any) -> Tensor:
        self.calls += 1
        if self.calls == self.call:
            self.action()
        loss: Tensor = self.inner(batch)
        return loss


def wrapped(call: int, action: Callable[[], None]) -> Callable[[nn.Module], nn.Module]:
    return lambda module: Interrupted(module, call, action)


def crash() -> None:
    raise MemoryError


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


def terminate() -> None:
    signal.raise_signal(signal.SIGTERM)


def nothing() -> None:
    pass


@pytest.fixture(scope="module")
def whole(
    make_loop: MakeLoop, tmp_path_factory: pytest.TempPathFactory
) -> tuple[TrainingLoop, Outcome]:
    """A run that is not interrupted."""
    loop = make_loop(tmp_path_factory.mktemp("whole"), *HARD, wrap=wrapped(0, nothing))
    return loop, loop.run()


@pytest.mark.parametrize(
    ("action", "step", "resumed_from"),
    [
        (crash, 3, 0),  # before the first checkpoint
        (crash, 13, 10),  # between two checkpoints, after a check that will be repeated
        (interrupt, 3, 3),
        (interrupt, 11, 11),  # in the middle of the second epoch, between two checks
        (interrupt, 8, 8),  # at the end of an epoch
        (terminate, 14, 14),
    ],
)
def test_resumes_as_if_it_had_not_stopped(
    make_loop: MakeLoop,
    tmp_path: Path,
    whole: tuple[TrainingLoop, Outcome],
    action: Callable[[], None],
    step: int,
    resumed_from: int,
) -> None:
    """To the bit, with all kinds of dropout, stochastic depth and accumulated gradients."""
    uninterrupted, expected = whole
    assert expected.steps == 16
    before = signal.getsignal(signal.SIGINT)

    # batches before step s: 2 per step, less one for each finished epoch
    call = 2 * step - 1 - (step - 1) // 8
    loop = make_loop(tmp_path, *HARD, wrap=wrapped(call, action))
    with pytest.raises((MemoryError, KeyboardInterrupt)):
        loop.run()
    assert loop.progress.step == (step if action is not crash else step - 1)
    assert signal.getsignal(signal.SIGINT) is before

    resumed = make_loop(tmp_path, *HARD, wrap=wrapped(0, nothing))
    resumed.resume()
    assert resumed.progress.step == resumed_from
    outcome = resumed.run()
    assert outcome == expected
    assert resumed.progress == uninterrupted.progress
    found, wanted = resumed.state.tensors(), uninterrupted.state.tensors()
    assert set(found) == set(wanted)
    assert [name for name, t in found.items() if not torch.equal(t, wanted[name])] == []
    kept = dict(uninterrupted.module.named_parameters())
    assert all(torch.equal(p, kept[name]) for name, p in resumed.module.named_parameters())
    assert reproducible(read_log(tmp_path)) == reproducible(read_log(uninterrupted.folder))


def test_finished_run_resumed(make_loop: MakeLoop, tmp_path: Path) -> None:
    first = make_loop(tmp_path)
    first.run()
    log = (tmp_path / "log.jsonl").read_text()
    again = make_loop(tmp_path)
    again.resume()
    assert again.run().steps == 15
    assert (tmp_path / "log.jsonl").read_text() == log
    for one, other in zip(first.module.parameters(), again.module.parameters(), strict=True):
        assert torch.equal(one, other)


def test_the_last_checkpoint_may_be_left_out(make_loop: MakeLoop, tmp_path: Path) -> None:
    for saves_last, step in ((True, 15), (False, 12)):
        loop = make_loop(tmp_path, "training.checkpoint_every=4", saves_last=saves_last)
        loop.run()
        path = find_checkpoint(tmp_path)
        assert path is not None
        assert load_checkpoint(path, loop.state.tensors()).progress.step == step


def test_log(make_loop: MakeLoop, tmp_path: Path) -> None:
    loop = make_loop(
        tmp_path,
        *("training.log_every=4", "training.epochs=2", "training.evaluate_every=1"),
        "training.learning_rate=0.005",
        *("training.schedule=linear", "training.warmup_steps=10", "training.spike=1e9"),
        evaluate=lambda: {"exact": 40.0, "f1": 50.0},
    )
    loop.run()
    lines = read_log(tmp_path)
    checks = [line for line in lines if "loss" in line]
    assert [line["step"] for line in checks] == [4, 8, 12, 16, 20, 24, 28, 30]
    for line in checks:
        step = line["step"]
        assert set(line) == {
            *("step", "epoch", "seconds", "loss"),
            *("learning_rate", "examples_per_second", "memory_mib"),
        }
        assert line["epoch"] == pytest.approx(step / 15, abs=1e-4)
        assert line["loss"] > 0
        expected = 0.005 * (step / 10 if step <= 10 else (30 - step) / 20)
        assert line["learning_rate"] == pytest.approx(expected, abs=1e-12)
        assert 1 < line["examples_per_second"] < 1e6
        assert 50 < line["memory_mib"] < 1e6
    times = [line["seconds"] for line in lines]
    assert times == sorted(times)
    assert times[0] >= 0.0
    scores = [line for line in lines if "exact" in line]
    assert [(s["step"], s["exact"], s["f1"]) for s in scores] == [
        (15, 40.0, 50.0),
        (30, 40.0, 50.0),
    ]


def test_logged_loss_is_the_mean_since_the_last_check(make_loop: MakeLoop, tmp_path: Path) -> None:
    plain = make_loop(tmp_path / "plain")
    losses = [float(plain.advance()[0]) for _ in range(15)]
    make_loop(tmp_path / "run", "training.log_every=10").run()
    found = [line["loss"] for line in read_log(tmp_path / "run") if "loss" in line]
    assert found == pytest.approx([sum(losses[:10]) / 10, sum(losses[10:]) / 5], rel=1e-6)


def test_accumulated_batches_equal_one_large_batch(make_loop: MakeLoop, tmp_path: Path) -> None:
    still = ["model.dropout=0", "model.character_dropout=0", "model.last_survival=1"]
    small = make_loop(tmp_path, *still, "training.accumulate=2")
    batches = small.batches.epoch(0)[:2]
    assert all(len(rows) == 8 for _, rows in batches)
    one = small.module
    losses = [one(small.batches.make(*item)) for item in batches]
    loss, questions = small.advance()
    torch.testing.assert_close(loss, (losses[0] + losses[1]).detach() / 2)
    assert questions == 16


def test_early_stop_keeps_the_best_weights(make_loop: MakeLoop, tmp_path: Path) -> None:
    course = iter([10.0, 50.0, 49.0, 50.0, 99.0])
    seen: list[list[Tensor]] = []

    def evaluate() -> Scores:
        seen.append([p.detach().clone() for p in loop.module.parameters()])
        return {"exact": 0.0, "f1": next(course)}

    settings = ("training.patience=2", "training.evaluate_every=0.2", "training.epochs=4")
    loop = make_loop(tmp_path, *settings, evaluate=evaluate)
    outcome = loop.run()
    assert outcome.steps == 12  # 4 evaluations, one every 3 steps: equal is not better
    assert (outcome.kept, outcome.best) == (0.4, 0.4)
    assert [line["f1"] for line in read_log(tmp_path) if "f1" in line] == [10, 50, 49, 50]
    kept = list(loop.module.parameters())
    assert all(torch.equal(a, b) for a, b in zip(kept, seen[1], strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(kept, seen[3], strict=True))


@pytest.mark.parametrize("patience", [0, 1])
def test_a_score_of_nan_ends_training(make_loop: MakeLoop, tmp_path: Path, patience: int) -> None:
    loop = make_loop(
        tmp_path, f"training.patience={patience}", evaluate=lambda: {"f1": float("nan")}
    )
    with pytest.raises(FailedTrainingError, match="evaluation gave f1 nan; lower training"):
        loop.run()


def test_every_process_draws_random_numbers_of_its_own(
    make_loop: MakeLoop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise dropout would drop the same places in all of them."""
    loop = make_loop(tmp_path)
    seeds: list[int] = []
    monkeypatch.setattr(torch, "manual_seed", seeds.append)
    device = loop.accelerator.device
    for process in range(3):
        loop.progress.step = 0
        loop.accelerator = SimpleNamespace(process_index=process, num_processes=3, device=device)
        loop.advance()
        loop.advance()
    assert len(set(seeds)) == len(seeds) == 6


def test_early_stop_and_resume(make_loop: MakeLoop, tmp_path: Path) -> None:
    """The best score so far is part of what is resumed."""
    by_step = {3: 10.0, 6: 50.0, 9: 49.0, 12: 48.0}
    settings = ("training.patience=2", "training.evaluate_every=0.2", "training.checkpoint_every=4")

    def run(folder: str, call: int, action: Callable[[], None], *, resume: bool) -> TrainingLoop:
        loop: TrainingLoop

        def evaluate() -> Scores:
            return {"exact": 0.0, "f1": by_step[loop.progress.step]}

        loop = make_loop(
            tmp_path / folder, *settings, wrap=wrapped(call, action), evaluate=evaluate
        )
        if resume:
            loop.resume()
        loop.run()
        return loop

    whole = run("whole", 0, nothing, resume=False)
    with pytest.raises(MemoryError):
        run("stopped", 11, crash, resume=False)
    resumed = run("stopped", 0, nothing, resume=True)
    assert resumed.progress == whole.progress
    for one, other in zip(resumed.module.parameters(), whole.module.parameters(), strict=True):
        assert torch.equal(one, other)


def test_evaluation_sees_the_average_and_leaves_no_trace(
    make_loop: MakeLoop, tmp_path: Path
) -> None:
    def evaluate() -> Scores:
        assert not loop.module.training
        torch.rand(7)  # an evaluation may draw random numbers
        for name, parameter in loop.module.named_parameters():
            assert torch.equal(parameter, loop.average.shadow[name])
        return {"exact": 0.0, "f1": 0.0}

    often = "training.evaluate_every=0.1"
    loop = make_loop(tmp_path / "often", often, evaluate=evaluate)
    loop.run()
    seldom = make_loop(tmp_path / "seldom", "training.evaluate_every=9")
    seldom.run()
    for one, other in zip(loop.module.parameters(), seldom.module.parameters(), strict=True):
        assert torch.equal(one, other)


def send(number: signal.Signals, times: int, error: type[Exception] | None = None) -> None:
    with stop_signals() as received:
        for _ in range(times):
            signal.raise_signal(number)
            assert received == [number]  # recorded, and the block continues
        if error is not None:
            raise error


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_second_signal_ends_at_once(number: signal.Signals, code: int) -> None:
    with pytest.raises(SystemExit) as ending:
        send(number, times=2)
    assert ending.value.code == code


@pytest.mark.parametrize("error", [None, FailedTrainingError])
def test_a_signal_that_no_step_handles_is_not_lost(error: type[Exception] | None) -> None:
    """It comes after the last step, or before a failure."""
    # Set explicitly, since background jobs ignore SIGINT.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            send(signal.SIGINT, times=1, error=error)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("captured", [True, False])
def test_a_model_that_cannot_be_captured_takes_eager_steps(
    monkeypatch: pytest.MonkeyPatch, captured: bool
) -> None:
    """On a GPU; here its parts are stand-ins."""
    module = torch.nn.Sequential(torch.nn.Linear(2, 2))
    module[0].can_be_captured = captured  # type: ignore[assignment]
    monkeypatch.setattr("readlet.engine.loop.GraphStep", lambda *_: "captured")
    monkeypatch.setattr("readlet.engine.loop.EagerStep", lambda *_: "eager")
    gpu = SimpleNamespace(
        prepare_model=lambda one: one, num_processes=1, device=SimpleNamespace(type="cuda")
    )
    settings = SimpleNamespace(accumulate=1, clip=1.0)
    others = dict.fromkeys(("optimizer", "average", "precision", "state"))
    loop = SimpleNamespace(accelerator=gpu, module=module, settings=settings, _groups=[], **others)
    made: Any = TrainingLoop._make_step(loop)  # type: ignore[arg-type]
    assert made == ("captured" if captured else "eager")
