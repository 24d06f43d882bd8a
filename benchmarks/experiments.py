"""Overhead of the experiment runner, and time of a report over many runs.

    python benchmarks/experiments.py

Part one trains a few short runs of `tiny` on the bundled corpus and prints the fraction of the time
that was not training. Part two generates 500 finished runs (250 rows, two seeds) of the size of
SQuAD dev and times the whole report command in every format. The exit code is 1 if a limit is
missed.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

import readlet.experiments.runner
from readlet.data import read_examples, write_examples
from readlet.experiments.grid import Run, expand, plan
from readlet.experiments.runner import run_grid
from readlet.experiments.spec import Table
from readlet.experiments.store import Result, versions
from readlet.inference.prediction_files import write_predictions

QUESTIONS = 10_570  # SQuAD 1.1 dev
SHARE_LIMIT, REPORT_LIMIT = 0.02, 10.0


def runner_share(folder: Path, epochs: int) -> tuple[float, float]:
    """Seconds of all runs, and the fraction that was not spent in training."""
    choices = {f"rate {rate:g}": {"training": {"learning_rate": rate}} for rate in (1e-3, 3e-3)}
    table = Table(
        name="cost",
        title="cost of the runner",
        recipe="tiny",
        seeds=2,
        set={"training": {"epochs": epochs}},
        axes={"rate": choices},
    )
    training = 0.0
    train = readlet.experiments.runner.train

    def timed(*args: Any, **named: Any) -> Any:
        nonlocal training
        began = time.perf_counter()
        trained = train(*args, **named)
        training += time.perf_counter() - began
        return trained

    readlet.experiments.runner.train = timed
    began = time.perf_counter()
    grid = expand(table)
    run_grid(grid, folder)
    total = time.perf_counter() - began
    readlet.experiments.runner.train = train
    return total, (total - training) / total


def report_seconds(folder: Path, rows: int) -> float:
    """Seconds for a report over two runs of each row."""
    originals = list(read_examples("bundled:train"))
    repeated = islice(enumerate(cycle(originals)), QUESTIONS)
    examples = [replace(example, id=f"{example.id}-{n}") for n, example in repeated]
    write_examples(folder / "dev.json", examples)
    (folder / "many.toml").write_text(_table(folder / "dev.json", rows))
    grid, out = plan(str(folder / "many.toml"), small=False, out=folder / "runs", folders=[])
    generator = np.random.default_rng(0)
    answers = {e.id: e.answers[0].text if e.answers else "" for e in examples}
    has_answer = np.array([bool(e.answers) for e in examples], np.uint8)
    for run in grid.runs:
        _generate(out / run.key, run, answers, has_answer, generator)
    return _seconds_of_report(folder)


def _table(dev: Path, rows: int) -> str:
    """A table file whose rows differ in their learning rate."""
    rates = {f"rate {n}": 1e-4 + n * 1e-6 for n in range(rows)}
    return "\n".join(
        (
            'name = "many"',
            'title = "many runs"',
            'recipe = "tiny"',
            "seeds = 2",
            f"set.data.dev = {json.dumps(str(dev))}",
            "[axes.rate]",
            *(
                f'"{name}" = {{ training.learning_rate = {rate:g} }}'
                for name, rate in rates.items()
            ),
        )
    )


def _seconds_of_report(folder: Path) -> float:
    """Seconds of the whole command, including the start of the process."""
    words = ["experiment", "report", str(folder / "many.toml"), "--out", str(folder / "runs")]
    words += ["--format", "md,html,tex,json", "--to", str(folder), "--overwrite"]
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "readlet", *words], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def _generate(
    folder: Path,
    run: Run,
    answers: dict[str, str],
    has_answer: NDArray[np.uint8],
    generator: np.random.Generator,
) -> None:
    folder.mkdir(parents=True)
    scores = generator.random(QUESTIONS).astype(np.float32)
    numbers = {
        "exact": (scores > 0.3).astype(np.float32),
        "f1": scores,
        "start": np.zeros(QUESTIONS, np.int32),
        "has_answer": has_answer,
        "no_answer": 1 - has_answer,
    }
    save_file(numbers, folder / "scores.safetensors")
    write_predictions(folder / "answers.json.gz", answers)
    lines = [
        {"step": n, "epoch": n / 100, "seconds": n, "loss": 3.0, "examples_per_second": 5000}
        for n in range(300)
    ]
    lines += [
        {"step": 300, "epoch": epoch, "seconds": 300, "exact": 60.0, "f1": 70.0 + epoch}
        for epoch in range(1, 4)
    ]
    (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    values = {
        "key": run.key,
        "recipe": json.loads(run.recipe.model_dump_json()),
        "scores": {"exact": 70.0, "f1": 100 * float(scores.mean())},
        "seconds": 300.0,
        "steps": 300,
        "parameters": 1_500_000,
        "machine": "none",
        "versions": versions(),
        "finished": "2030-01-01T00:00:00+00:00",
        "items": "same",
        "task": "spans",
    }
    result = Result.model_validate(values)
    (folder / "result.json").write_text(result.model_dump_json())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=6, help="epochs per run in part one")
    parser.add_argument("--rows", type=int, default=250, help="rows in part two, two runs each")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        total, share = runner_share(Path(name) / "cost", arguments.epochs)
        print(f"runner: {share:.2%} of {total:.0f} s of four runs (limit {SHARE_LIMIT:.0%})")
        seconds = report_seconds(Path(name), arguments.rows)
        count = 2 * arguments.rows
        print(f"report: {count} runs in {seconds:.1f} s (limit {REPORT_LIMIT:.0f} s for 500)")
    sys.exit(share > SHARE_LIMIT or seconds > REPORT_LIMIT)


if __name__ == "__main__":
    main()
