"""`readlet train` from the command line: errors, interruption, several processes."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from readlet.inference.reader import Reader
from readlet.models.recipe_files import explained_fields, load_recipe
from readlet.training.train import train_reader

Run = Callable[..., Any]

# 45 steps, 15 per epoch; no checkpoint coincides with the end of an epoch.
KILLED = [
    *("training.batch_size=8", "training.epochs=3", "training.evaluate_every=2"),
    *("training.checkpoint_every=7", "training.log_every=2"),
]
# 24 steps, 8 per epoch, of two batches each except for the last of an epoch.
INTERRUPTED = [
    *("training.batch_size=8", "training.epochs=3", "training.accumulate=2"),
    *("training.checkpoint_every=5", "training.log_every=3", "training.evaluate_every=2"),
]


def sets(changes: list[str]) -> list[str]:
    return [word for change in changes for word in ("--set", change)]


def read_log(folder: Path) -> list[dict[str, Any]]:
    path = folder / "log.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def reproducible(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The log without values that depend on the speed of the machine."""
    timings = ("examples_per_second", "memory_mib", "seconds")
    return [{k: v for k, v in line.items() if k not in timings} for line in lines]


def checkpoints(folder: Path) -> list[int]:
    return [int(path.name.rpartition("-")[2]) for path in folder.glob("checkpoint-*")]


def wait_for(process: BaseProcess, condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not condition():
        assert process.exitcode is None
        assert time.monotonic() < until, "nothing happened"
        time.sleep(0.005)


def check_same_as_uninterrupted(folder: Path, changes: list[str], reference: Path) -> None:
    train_reader(load_recipe("tiny", changes), reference, resume=False)
    assert reproducible(read_log(folder)) == reproducible(read_log(reference))
    steps = [line["step"] for line in read_log(folder) if "loss" in line]
    assert len(set(steps)) == len(steps)  # no line twice
    for name in ("model.safetensors", "metrics.json", "calibration.json"):
        assert (folder / name).read_bytes() == (reference / name).read_bytes(), name
    left = {path.name for path in folder.iterdir()}
    assert left == {path.name for path in reference.iterdir()}  # and no temporary files


def test_killed_and_resumed(
    readlet: Run, forked: Any, tmp_path: Path, small_training: list[str], few_questions: Path
) -> None:
    """The same weights as without SIGKILL in the middle of an epoch."""
    folder, changes = tmp_path / "killed", [*small_training, *KILLED, f"data.dev={few_questions}"]

    def is_between_checkpoints() -> bool:
        saved = checkpoints(folder)
        logged = [line["step"] for line in read_log(folder)]
        return bool(saved) and max(saved) >= 14 and logged[-1] > max(saved)

    words = ("train", "tiny", "--out", folder, *sets(changes))
    with forked.forked_readlet(*words) as process:
        wait_for(process, is_between_checkpoints)
        process.kill()
        process.join(60)
        assert process.exitcode == -signal.SIGKILL
    assert max(checkpoints(folder)) < 45
    assert not (folder / "config.json").exists()
    done = readlet(*words, "--resume")
    assert done.code == 0
    check_same_as_uninterrupted(folder, changes, tmp_path / "reference")


def test_interrupted_and_resumed(
    readlet: Run, forked: Any, tmp_path: Path, small_training: list[str], few_questions: Path
) -> None:
    """Ctrl-C: the step is finished, a checkpoint written, exit code 130."""
    folder = tmp_path / "interrupted"
    changes = [*small_training, *INTERRUPTED, f"data.dev={few_questions}"]
    words = ("train", "tiny", "--out", folder, *sets(changes))
    with forked.forked_readlet(*words, err=tmp_path / "err.txt") as process:
        wait_for(process, lambda: any(line["step"] >= 9 for line in read_log(folder)))
        os.kill(process.pid, signal.SIGINT)
        process.join(60)
        assert process.exitcode == 130
    err = (tmp_path / "err.txt").read_text()
    assert "Traceback" not in err
    (step,) = checkpoints(folder)
    assert 9 <= step < 24
    assert f"readlet: stopped at step {step}; " in err.splitlines()[-1]
    assert max(line["step"] for line in read_log(folder)) <= step
    refused = readlet(*words)
    assert refused.code == 2
    assert "already contains a run; continue with --resume" in refused.err
    assert readlet(*words, "--resume").code == 0
    check_same_as_uninterrupted(folder, changes, tmp_path / "reference")


def test_two_processes_equal_one_with_the_double_batch(
    tmp_path: Path, small_training: list[str]
) -> None:
    changes = [
        *small_training,
        *("model.dropout=0", "model.character_dropout=0", "model.last_survival=1"),
        *("training.epochs=1", "training.log_every=5", "training.checkpoint_every=6"),
        # Adam normalises gradients: with a tiny epsilon, gradients that are zero up to rounding
        # would move their weights as far as any other.
        "training.epsilon=0.001",
    ]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    # `--cpu` would start a single process; so the flag is the one for several devices, and an
    # environment variable selects the CPU.
    launch = ["--multi_gpu", "--num_processes", "2", "--num_machines", "1"]
    launch += ["--mixed_precision", "no", "--dynamo_backend", "no"]
    launch += ["--main_process_port", str(port)]
    two = tmp_path / "two"
    train = ["-m", "readlet", "train", "tiny", "--out", str(two)]
    command = [sys.executable, "-m", "accelerate.commands.launch", *launch, *train]
    done = subprocess.run(
        [*command, *sets([*changes, "training.batch_size=4"])],
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
        env={**os.environ, "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("the reader is in") == 1  # reported once, not by every process

    one = tmp_path / "one"
    recipe = load_recipe("tiny", [*changes, "training.batch_size=8"])
    train_reader(recipe, one, resume=False)
    found, expected = (load_file(path / "model.safetensors") for path in (two, one))
    assert set(found) == set(expected)
    for name, tensor in expected.items():
        assert torch.allclose(found[name], tensor, rtol=0.0, atol=1e-5), name
    lines, others = read_log(two), read_log(one)
    assert [line["step"] for line in lines] == [line["step"] for line in others] == [5, 10, 15, 15]
    for line, other in zip(lines, others, strict=True):
        for key in ("loss", "exact", "f1"):
            assert line.get(key) == pytest.approx(other.get(key), abs=1e-4)
    assert checkpoints(two) == []  # of no use once it has finished
    assert Reader.load(two).metrics["steps"] == 15


def test_trains_and_reports(
    readlet: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_training: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    few = ["training.epochs=1", "training.batch_size=64", "name=mine"]
    done = readlet("train", "tiny", *sets([*small_training, *few]))
    assert done.code == 0
    folder = tmp_path / "runs" / "mine"  # the default folder
    scores = json.loads((folder / "metrics.json").read_text())["dev"]
    (line,) = [line for line in done.out.splitlines() if line.startswith("EM ")]
    assert line.startswith(f"EM {scores['exact']:.2f}, F1 {scores['f1']:.2f} on ")
    assert line.endswith("; the reader is in runs/mine")
    assert "epoch 1.0: EM " in done.err
    assert "kept: the weights after epoch 1, the best" in done.out
    assert Reader.load(folder).name == "mine"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tinny"], "tinny: "),
        (["tiny", "--set", "training.epoch=3"], "training.epoch"),
        (["tiny", "--set", "training.epochs"], "--set training.epochs: "),
        (["tiny", "--set", "data.overlap=300"], "data.overlap"),
        (["tiny", "--set", "data.dev=missing.json"], "missing.json: data.dev: "),
        (["tiny", "--resume"], "--resume"),
        (["tiny", "--set", "name=../evil"], "--out"),
    ],
)
def test_bad_arguments(
    readlet: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = readlet("train", *words)
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert line.startswith("readlet: ")
    assert message in line
    assert list(tmp_path.iterdir()) == []


def test_fields_are_explained(readlet: Run) -> None:
    done = readlet("train", "--fields")
    assert done.code == 0
    shown = " ".join(done.out.split())
    for field, _, sentence in explained_fields("qacnn"):
        assert f"{field} = " in shown
        assert sentence in shown
    assert "model.mix" in readlet("train", "--fields", "--kind", "encoder").out
