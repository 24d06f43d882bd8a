"""Reports on runs that predict classes: nothing in them assumes questions or means."""

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from readlet.evaluation.classification import class_items, matthews_of
from readlet.experiments.formatting import write_report
from readlet.experiments.grid import Grid, expand
from readlet.experiments.report import Report, build_report, report_on
from readlet.experiments.runner import finish
from readlet.experiments.spec import load_table, task_named
from readlet.experiments.store import RunFolder, find_finished
from readlet.training.train import Trained
from readlet.types import Sentence

Write = Callable[..., str]
LABELS = [int(n % 3 > 0) for n in range(60)]
SENTENCES = [Sentence(str(n), f"Sentence {n}.", str(label)) for n, label in enumerate(LABELS, 1)]


def guesses(skill: float, seed: int, labels: Sequence[int] = LABELS) -> list[int]:
    draw = random.Random(seed)
    return [label if draw.random() < skill else 1 - label for label in labels]


def made_run(
    grid: Grid,
    out: Path,
    row: str,
    seed: int,
    predicted: Sequence[int],
    task: str = "cola",
    sentences: Sequence[Sentence] = SENTENCES,
) -> None:
    """The folder of a finished classifier."""
    run = next(run for run in grid.runs if (run.row, run.seed) == (row, seed))
    folder = RunFolder(out / run.key)
    folder.work.mkdir(parents=True)
    classes = [str(guess) for guess in predicted]
    found = task_named(task)
    assert found is not None
    scored = found.score(sentences, classes)
    lines = [
        {"step": 1, "epoch": 1.0, "seconds": 3.0, **dict.fromkeys(scored.summary, 20.0)},
        {"step": 2, "epoch": 2.0, "seconds": 6.0, **scored.summary},
    ]
    (folder.work / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    reader: Any = SimpleNamespace(metrics={"steps": 2}, scorer=SimpleNamespace(parameters=9))
    trained = Trained(reader, sentences, classes, found)
    finish(folder, run, trained, "a machine", keep_reader=False)


@pytest.fixture
def grid(write_table: Write, tmp_path: Path) -> Grid:
    (tmp_path / "dev.tsv").write_text("sentence\tlabel\nfine\t1\n")  # not a file of questions
    metrics = 'metrics = ["matthews_correlation", "accuracy", "f1"]'
    dev = f'data.dev = "{tmp_path / "dev.tsv"}"\ndata.max'
    return expand(
        load_table(write_table(("seeds = 2", f"seeds = 2\n{metrics}"), ("data.max", dev)))
    )


def report_of(grid: Grid, out: Path) -> Report:
    return build_report(grid, find_finished(grid, out).runs)


def matthews(predicted: Sequence[int], rows: Sequence[int] | None = None) -> float:
    chosen = range(len(LABELS)) if rows is None else rows
    items = class_items([LABELS[n] for n in chosen], [predicted[n] for n in chosen])
    return matthews_of(2).score(items)


def test_a_difference_in_matthews_correlation(grid: Grid, tmp_path: Path) -> None:
    """Against plain loops without sums: the mean over seeds, resampled and swapped."""
    base = [guesses(0.6, seed) for seed in (0, 1)]
    better = [guesses(0.8, seed) for seed in (10, 11)]
    for seed in (0, 1):
        made_run(grid, tmp_path, "baseline", seed, base[seed])
        made_run(grid, tmp_path, "width 12", seed, better[seed])
    report = report_of(grid, tmp_path)
    assert report.metrics == ["matthews_correlation"]
    (found,) = report.differences

    def difference(rows: Sequence[int] | None = None) -> float:
        pairs = zip(better, base, strict=True)
        return float(np.mean([matthews(a, rows) - matthews(b, rows) for a, b in pairs]))

    assert found.mean == pytest.approx(difference())
    generator = np.random.default_rng(0)
    drawn = [row for _ in range(10) for row in generator.integers(0, 60, (100, 60))]
    bounds = np.percentile([difference(row) for row in drawn], [2.5, 97.5])
    assert (found.low, found.high) == pytest.approx(tuple(bounds), abs=1e-6)
    draw = random.Random(5)
    extreme = 0
    for _ in range(1000):
        swapped = [draw.random() < 0.5 for _ in LABELS]
        total = 0.0
        for a, b in zip(better, base, strict=True):
            cells = list(zip(a, b, swapped, strict=True))
            total += matthews([y if s else x for x, y, s in cells])
            total -= matthews([x if s else y for x, y, s in cells])
        extreme += abs(total / 2) >= abs(found.mean) - 1e-9
    p = (extreme + 1) / 1001
    assert found.p_items == pytest.approx(p, abs=4 * (p * (1 - p) / 1000) ** 0.5 + 0.002)
    assert 0.0005 < p < 0.2  # otherwise this test would show little
    assert found.p_seeds is not None


def test_a_report_on_classes_is_complete(grid: Grid, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    for row, skill in (("baseline", 0.6), ("width 12", 0.9)):
        for seed in (0, 1):
            made_run(grid, out, row, seed, guesses(skill, seed), "mrpc")
    written = write_report(report_on(grid, out), tmp_path, ["md", "html", "json"], command="")
    texts = {path.suffix: path.read_text() for path in written}
    report = json.loads(texts[".json"])
    assert (report["noun"], report["items"]) == ("sentences", 60)
    assert [row["task"] for row in report["rows"]] == ["mrpc", "mrpc", ""]
    assert {d["metric"] for d in report["differences"]} == {"accuracy", "f1"}
    assert all(d["p_items"] is not None for d in report["differences"])
    assert "60 sentences" in texts[".md"]


def test_rows_without_a_common_seed_are_not_compared(grid: Grid, tmp_path: Path) -> None:
    made_run(grid, tmp_path, "baseline", 0, guesses(0.6, 0))
    made_run(grid, tmp_path, "width 12", 1, guesses(0.8, 1))
    report = report_of(grid, tmp_path)
    assert report.differences == []
    assert any("common" in remark for remark in report.remarks)


def test_collapsed_seeds_are_counted_and_named(grid: Grid, tmp_path: Path) -> None:
    task = "2 classes: matthews_correlation, accuracy"
    for seed in (0, 1):
        made_run(grid, tmp_path, "baseline", seed, guesses(0.9, seed), task)
        made_run(grid, tmp_path, "width 12", seed, [1] * 60 if seed else guesses(0.9, 5), task)
    report = report_of(grid, tmp_path)
    (line,) = (remark for remark in report.remarks if "collapsed" in remark)
    assert "width 12 (seed 1)" in line
    assert report.metrics == ["matthews_correlation", "accuracy"]
    assert {d.metric for d in report.differences} == {"matthews_correlation", "accuracy"}
