"""Runs of a grid: trained once, resumed, merged, set aside if damaged."""

import shutil
import signal
import stat
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import safetensors.torch as tensors_module
from safetensors import SafetensorError

from readlet.data import source_path
from readlet.engine import checkpoint as checkpoint_module
from readlet.engine.loop import TrainingLoop
from readlet.errors import BusyError, ReadletError
from readlet.experiments import runner as runner_module
from readlet.experiments.grid import Grid, Run, expand
from readlet.experiments.runner import Runner, run_grid
from readlet.experiments.spec import load_table
from readlet.experiments.store import DamagedRunError, RunFolder, find_finished

Write = Callable[..., str]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The baseline of the small table, seed 0, trained once for all tests."""
    return tmp_path_factory.mktemp("made")


# A quarter of the questions in as many steps.
FEW = ["data.share=0.25", "training.batch_size=16"]


def one_run(write_table: Write) -> Grid:
    return expand(load_table(write_table()), only=["baseline"], seeds=1, changes=FEW)


@pytest.fixture
def out(made: Path, write_table: Write, tmp_path: Path) -> Path:
    """A folder with that one finished run."""
    if not any(made.iterdir()):
        run_grid(one_run(write_table), made)
    shutil.copytree(made, tmp_path / "out")
    return tmp_path / "out"


def test_a_finished_run_is_small_and_complete(out: Path, write_table: Write) -> None:
    grid = one_run(write_table)
    (finished,) = find_finished(grid, out).runs.values()
    run = grid.runs[0]
    assert sorted(path.name for path in (out / run.key).iterdir()) == [
        "answers.json.gz",
        "log.jsonl",
        "result.json",
        "scores.safetensors",
    ]
    assert sum(path.stat().st_size for path in (out / run.key).iterdir()) < 100_000
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (out / run.key).iterdir()}
    (out / "any").write_text("")
    assert modes == {stat.S_IMODE((out / "any").stat().st_mode)}  # according to the umask
    scores = finished.items
    assert {*scores} == {"exact", "f1", "has_answer", "no_answer", "start"}
    assert finished.result.task == "spans"
    assert finished.result.scores["f1"] == pytest.approx(100 * scores["f1"].mean(), abs=1e-4)
    assert finished.result.scores["exact"] == pytest.approx(100 * scores["exact"].mean(), abs=1e-4)
    assert len(scores["f1"]) == 84
    assert finished.log[-1]["epoch"] == 2.0
    assert finished.result.seconds > 0


def test_a_finished_run_is_never_repeated(
    out: Path, write_table: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    run_grid(one_run(write_table), out)
    assert capsys.readouterr().err == "1 of 1 done\n"


def test_folders_of_other_machines_are_merged_by_copying(
    out: Path, write_table: Write, tmp_path: Path
) -> None:
    grid = expand(load_table(write_table()), only=["baseline"], seeds=2, changes=FEW)
    first = find_finished(grid, out).runs
    assert len(first) == 1
    elsewhere = tmp_path / "other machine"
    other = grid.__class__(grid.table, grid.rows, grid.runs[1:], grid.comparisons)
    assert [run.result.seed for run in run_grid(other, elsewhere).values()] == [1]
    shutil.copytree(elsewhere, out, dirs_exist_ok=True)
    assert set(find_finished(grid, out).runs) == {run.key for run in grid.runs}


@pytest.mark.parametrize("damage", ["result", "other", "gone"])
def test_a_damaged_run_is_reported(out: Path, write_table: Write, damage: str) -> None:
    grid = one_run(write_table)
    folder = out / grid.runs[0].key
    if damage == "result":
        (folder / "result.json").write_text("{")
    elif damage == "other":
        text = (folder / "result.json").read_text()
        (folder / "result.json").write_text(text.replace(grid.runs[0].key, "0" * 16))
    else:
        (folder / "answers.json.gz").unlink()
    found = find_finished(grid, out)
    assert not found.runs
    assert found.damaged[0].startswith(f"baseline, seed 0: {folder}: ")
    with pytest.raises(DamagedRunError):
        RunFolder(folder).read()
    with pytest.raises(ReadletError, match=folder.name):
        run_grid(grid, out)


def test_damaged_scores_are_reported(out: Path, write_table: Write) -> None:
    grid = one_run(write_table)
    (out / grid.runs[0].key / "scores.safetensors").write_bytes(b"half")
    (finished,) = find_finished(grid, out).runs.values()
    with pytest.raises(DamagedRunError):
        _ = finished.items


def test_a_run_of_another_process_is_an_error(write_table: Write, tmp_path: Path) -> None:
    grid = one_run(write_table)
    folder = tmp_path / grid.runs[0].key
    with RunFolder(folder).claimed():
        with pytest.raises(BusyError) as error:
            Runner(tmp_path).make(grid.runs[0])
        assert error.value.source == folder
        with pytest.raises(ReadletError, match=folder.name):
            run_grid(grid, tmp_path)


def test_data_changed_during_a_run_is_detected(
    write_table: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key would belong to other data."""
    data = tmp_path / "mine.json"
    shutil.copy(source_path("bundled:dev"), data)
    path = write_table(("data.max_context", f'data.dev = "{data}"\ndata.max_context'))
    grid = expand(load_table(path), only=["baseline"], seeds=1, changes=FEW)
    train = TrainingLoop.run

    def change(self: TrainingLoop) -> Any:
        data.write_text(data.read_text().replace("a", "e", 1))
        return train(self)

    monkeypatch.setattr(TrainingLoop, "run", change)
    with pytest.raises(ReadletError, match="data files changed while the command was running"):
        run_grid(grid, tmp_path / "out")
    assert not list((tmp_path / "out").glob("*/result.json"))


def test_a_run_that_fails_does_not_stop_the_others(
    write_table: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = expand(load_table(write_table()), seeds=1)
    begun: list[str] = []
    made: Any = SimpleNamespace(
        result=SimpleNamespace(scores={}, seconds=1.0),
        task=SimpleNamespace(progress=lambda scores: ""),
    )

    def make(self: object, run: Run) -> Any:
        begun.append(run.row)
        if run.row == "width 12":
            raise ReadletError("training diverges")
        return made

    monkeypatch.setattr(runner_module.Runner, "make", make)
    with pytest.raises(ReadletError, match=r"1 of 3 runs failed.*width 12, seed 0"):
        run_grid(grid, tmp_path)
    assert begun == ["baseline", "width 12", "no match"]


@pytest.mark.parametrize("full", ["checkpoint", "scores"])
def test_a_full_disk_is_one_line_and_the_run_can_be_resumed(
    write_table: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full: str
) -> None:
    """In the middle of a run, and at its end."""
    module = {"checkpoint": checkpoint_module, "scores": tensors_module}[full]
    save_file = module.save_file

    def fail(tensors: Any, path: Path) -> None:
        if full == "scores" or "00000004" in str(path):
            raise SafetensorError("IoError: No space left on device")
        save_file(tensors, path)

    grid = one_run(write_table)
    monkeypatch.setattr(module, "save_file", fail)
    with pytest.raises(ReadletError) as caught:
        run_grid(grid, tmp_path)
    assert full in str(caught.value)
    assert "No space left" in str(caught.value)
    monkeypatch.undo()
    assert len(run_grid(grid, tmp_path)) == 1


def test_data_is_prepared_once_for_runs_that_share_it(
    write_table: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import readlet.training.train as train_reader

    calls: list[int] = []
    prepare = train_reader.prepare

    def counted(*args: object) -> object:
        calls.append(1)
        return prepare(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(train_reader, "prepare", counted)
    grid = expand(load_table(write_table()), seeds=1, changes=[*FEW, "training.epochs=1"])
    run_grid(grid, tmp_path)
    assert len(calls) == 1
    assert len(grid.runs) == 3


def test_killed_twice_and_finished(
    out: Path, write_table: Write, tmp_path: Path, readlet: Callable[..., Any], forked: Any
) -> None:
    """SIGKILL at two points of the same run; the result equals that of an uninterrupted run."""
    table = write_table()
    folder = tmp_path / "killed"
    words = ["experiment", "run", table, "--only", "baseline", "--seeds", "1", "--out", str(folder)]
    words += [word for change in FEW for word in ("--set", change)]
    run = one_run(write_table).runs[0]
    for steps in (2, 6):
        errors = tmp_path / "errors.txt"
        with forked.forked_readlet(*words, err=errors) as process:
            _wait_for_step(folder / run.key / "work" / "log.jsonl", steps, process, errors)
            process.kill()
            process.join()
            assert process.exitcode == -signal.SIGKILL
        assert not (folder / run.key / "result.json").exists()
    finished = readlet(*words)
    assert finished.code == 0, finished.err
    (resumed,) = find_finished(one_run(write_table), folder).runs.values()
    (undisturbed,) = find_finished(one_run(write_table), out).runs.values()
    for name, values in undisturbed.items.items():
        assert np.array_equal(resumed.items[name], values)
    losses = [[r["loss"] for r in run.log if "loss" in r] for run in (resumed, undisturbed)]
    assert losses[0] == losses[1]


def _wait_for_step(log: Path, step: int, process: BaseProcess, errors: Path) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process.exitcode is None, errors.read_text() or "finished before it could be killed"
        if log.exists() and f'"step": {step},' in log.read_text():
            return
        time.sleep(0.01)
    raise AssertionError("no such step")
