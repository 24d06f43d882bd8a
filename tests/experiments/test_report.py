"""Reports on runs with made-up scores."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from readlet.data import read_examples
from readlet.experiments.grid import Grid, expand
from readlet.experiments.report import Report, build_report
from readlet.experiments.spec import load_table
from readlet.experiments.store import Result, find_finished
from readlet.inference.prediction_files import write_predictions
from readlet.types import Example

Write = Callable[..., str]
EXAMPLES = list(read_examples("bundled:dev"))


def answer_place(example: Example, text: str) -> int:
    return example.answers[0].start if text and text != "wrong" else 0


def pretend(
    grid: Grid,
    out: Path,
    scores: dict[str, list[float]],
    *,
    code: str = "c0de",
    questions: str = "same",
) -> None:
    """Folders of finished runs: the first answers of every run are correct, the rest wrong."""
    for run in grid.runs:
        if run.row not in scores or run.seed >= len(scores[run.row]):
            continue
        share = scores[run.row][run.seed] / 100
        examples = EXAMPLES
        f1 = np.zeros(len(examples), np.float32)
        f1[: round(share * len(examples))] = 1
        has = np.array([bool(example.answers) for example in examples])
        answers = {
            e.id: (e.answers[0].text if e.answers else "") if right else "wrong"
            for e, right in zip(examples, f1, strict=True)
        }
        folder = out / run.key
        folder.mkdir(parents=True)
        columns = {
            "exact": f1,
            "f1": f1,
            "start": np.array([answer_place(e, answers[e.id]) for e in examples], np.int32),
            "has_answer": has.astype(np.uint8),
            "no_answer": (~has).astype(np.uint8),
        }
        save_file(columns, folder / "scores.safetensors")
        write_predictions(folder / "answers.json.gz", answers)
        lines = [
            {"step": 1, "epoch": 1.0, "seconds": 3.0, "exact": 10.0, "f1": 20.0 + run.seed},
            {"step": 2, "epoch": 2.0, "seconds": 6.0, "exact": 30.0, "f1": 40.0},
        ]
        (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        values = {
            "key": run.key,
            "recipe": json.loads(run.recipe.model_dump_json()),
            "scores": {
                f"{whose}{measure}": 100 * float(f1[chosen].mean())
                for whose, chosen in (("", has | ~has), ("HasAns_", has), ("NoAns_", ~has))
                for measure in ("exact", "f1")
                if chosen.any()
            },
            "seconds": 6.0,
            "steps": 2,
            "parameters": 1000,
            "machine": "a machine",
            "versions": {"readlet": "0.1.0", "code": code, "torch": "2", "python": "3"},
            "finished": "2030-01-01T00:00:00+00:00",
            "items": questions,
            "task": "spans",
        }
        result = Result.model_validate(values)
        (folder / "result.json").write_text(result.model_dump_json())


@pytest.fixture
def report_of(write_table: Write, tmp_path: Path) -> Callable[..., Report]:
    grid = expand(load_table(write_table()))

    def make(scores: dict[str, list[float]]) -> Report:
        pretend(grid, tmp_path / "runs", scores)
        return build_report(grid, find_finished(grid, tmp_path / "runs").runs)

    return make


def test_means_deviations_and_the_best(report_of: Callable[..., Report]) -> None:
    report = report_of({"baseline": [50, 50], "width 12": [75, 25], "no match": [25]})
    rows = {row.name: row for row in report.rows}
    f1 = rows["width 12"].cells["f1"]
    assert f1.mean == pytest.approx(50)
    assert f1.deviation == pytest.approx(50 / np.sqrt(2))
    assert list(f1.seeds) == [0, 1]
    assert rows["width 12"].paper == {"f1": 12.5}
    assert rows["baseline"].cells["f1"].is_best
    assert not rows["no match"].cells["f1"].is_best
    assert rows["no match"].cells["f1"].deviation is None
    assert (rows["no match"].finished, rows["no match"].planned) == (1, 2)
    assert rows["baseline"].parameters == 1000
    assert rows["baseline"].seconds == 6.0
    assert [(p.epoch, p.lowest, p.highest) for p in rows["baseline"].curve] == [
        (1.0, 20.0, 21.0),
        (2.0, 40.0, 40.0),
    ]
    assert report.items == len(EXAMPLES)


def test_differences(report_of: Callable[..., Report]) -> None:
    report = report_of({"baseline": [50, 50], "width 12": [75, 75], "no match": [50, 50]})
    found = {(d.row, d.metric): d for d in report.differences}
    better, same = found["width 12", "f1"], found["no match", "f1"]
    assert better.against == "baseline"
    assert better.mean == pytest.approx(25)
    assert better.low is not None
    assert better.high is not None
    assert 10 < better.low < 25 < better.high < 40
    # 21 of 84 questions won, none lost; two comparisons.
    assert better.p_items == pytest.approx(2 / 10_001, abs=1e-6)
    assert better.p_seeds is None  # the same difference twice: no variance
    assert better.seeds == 2
    assert (same.mean, same.low, same.high, same.p_items) == (0, 0, 0, 1)
    assert same.p_seeds == 1.0


def test_no_test_without_common_seeds_or_questions(
    write_table: Write, tmp_path: Path, report_of: Callable[..., Report]
) -> None:
    grid = expand(load_table(write_table()))
    pretend(grid, tmp_path / "runs", {"width 12": [75]}, questions="others", code="0ther")
    report = report_of({"baseline": [50, 50]})
    (exact, f1) = report.differences
    assert exact.metric == "exact"
    assert (f1.low, f1.p_items, f1.p_seeds, f1.seeds) == (None, None, None, 1)
    assert f1.mean == pytest.approx(25)
    assert report.items is None
    assert len(report.versions) == 2


def test_only_common_seeds_are_compared(report_of: Callable[..., Report]) -> None:
    """On the seed that both have, the row is better; with all seeds it would look worse."""
    report = report_of({"baseline": [50, 75], "width 12": [60]})
    (f1,) = (d for d in report.differences if d.metric == "f1")
    assert f1.mean == pytest.approx(100 * (round(0.6 * 84) - 42) / 84)
    assert f1.low is not None
    assert f1.low > 0
    assert f1.seeds == 1


def test_metrics_over_some_questions_are_tested_over_these(
    write_table: Write, tmp_path: Path
) -> None:
    """The runs store which questions these are: no data is needed."""
    grid = expand(
        load_table(write_table(("seeds = 2", 'seeds = 2\nmetrics = ["HasAns_f1", "NoAns_f1"]')))
    )
    scores: dict[str, list[float]] = {"baseline": [50, 50], "width 12": [75, 75]}
    pretend(grid, tmp_path, scores)
    found = build_report(grid, find_finished(grid, tmp_path).runs).differences
    has = [bool(e.answers) for e in EXAMPLES[42:63]]  # correct in one row, wrong in the other
    assert {d.metric for d in found} == {"HasAns_f1", "NoAns_f1"}
    for difference in found:
        part = [h == (difference.metric == "HasAns_f1") for h in has]
        total = sum(bool(e.answers) == (difference.metric == "HasAns_f1") for e in EXAMPLES)
        assert difference.mean == pytest.approx(100 * sum(part) / total)
        assert difference.low is not None
        assert difference.high is not None
        assert difference.low <= difference.mean <= difference.high
        assert difference.high > 0
        assert difference.p_items is not None


def test_rows_with_different_questions_do_not_affect_the_others(
    write_table: Write, tmp_path: Path
) -> None:
    pairs = '[["no match", "baseline"], ["width 12", "baseline"]]'
    grid = expand(load_table(write_table(("seeds = 2", f"seeds = 1\ncompare = {pairs}"))))
    pretend(grid, tmp_path, {"baseline": [50], "width 12": [75]})
    pretend(grid, tmp_path, {"no match": [75]}, questions="others")
    report = build_report(grid, find_finished(grid, tmp_path).runs)
    tested = {d.row: d.p_items for d in report.differences if d.metric == "f1"}
    assert tested == {"no match": None, "width 12": pytest.approx(1 / 10_001, abs=1e-6)}


def test_a_report_on_some_rows(write_table: Write, tmp_path: Path) -> None:
    table = load_table(write_table())
    pretend(expand(table), tmp_path, {"baseline": [50, 50], "width 12": [75, 75]})
    grid = expand(table, only=["width 12", "no match"])
    assert grid.comparisons == [("no match", "width 12")]
    report = build_report(grid, find_finished(grid, tmp_path).runs)
    assert [(row.name, row.planned, row.finished) for row in report.rows] == [
        ("width 12", 2, 2),
        ("no match", 2, 0),
    ]
