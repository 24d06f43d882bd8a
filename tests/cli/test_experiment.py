"""`readlet experiment` from the command line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.experiments.grid import expand
from readlet.experiments.spec import load_table, shipped_tables
from readlet.models.recipe_files import load_recipe

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READLET_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_table: str) -> str:
    """Two rows, one seed, one epoch, a quarter of the questions."""
    monkeypatch.chdir(tmp_path)
    text = small_table.replace("seeds = 2", "seeds = 1").replace("epochs = 2", "epochs = 1")
    text = text.replace("batch_size = 64", "batch_size = 16\ndata.share = 0.25")
    text = text.replace('"no match" = { model.match_features = false }', "")
    (tmp_path / "quick.toml").write_text(text)
    return "quick.toml"


def test_plan_run_report(readlet: Run, table: str, tmp_path: Path) -> None:
    planned = readlet("experiment", "run", table, "--dry-run")
    assert planned.code == 0
    assert "0 of 2 runs done in runs/quick" in planned.out
    assert not (tmp_path / "runs").exists()

    made = readlet("experiment", "run", table)
    assert made.code == 0, made.err
    assert "1 of 2 done: width 12, seed 0" in made.err
    assert "2 of 2 done: width 12, seed 0: EM" in made.err

    planned = readlet("experiment", "run", table, "--dry-run")
    assert "2 of 2 runs done in runs/quick" in planned.out

    done = readlet("experiment", "report", table, "--format", "md, html,json,md")
    assert done.code == 0, done.err
    listed = [Path(line) for line in done.out.splitlines()]
    assert [path.name for path in listed] == [
        *("quick.md", "quick.html", "quick.json", "quick-curves.svg")
    ]
    assert all(path.stat().st_size > 500 for path in listed)
    values = json.loads((tmp_path / "runs/quick/quick.json").read_text())
    assert [row["name"] for row in values["rows"]] == ["baseline", "width 12"]
    words = (table, "--format", "json", "--to", tmp_path / "some")
    assert readlet("experiment", "report", *words, "--only", "width 12").code == 0
    values = json.loads((tmp_path / "some/quick.json").read_text())
    assert [row["name"] for row in values["rows"]] == ["width 12"]
    assert readlet("experiment", "report", *words).code == 2  # the file exists
    assert readlet("experiment", "report", *words, "--overwrite").code == 0


def test_keep_readers(readlet: Run, table: str, tmp_path: Path) -> None:
    made = readlet("experiment", "run", table, "--only", "width 12", "--keep-readers")
    assert made.code == 0, made.err
    (reader,) = (tmp_path / "runs/quick").glob("*/reader")
    answered = readlet("evaluate", reader, "bundled:test")
    assert answered.code == 0, answered.err


def test_several_processes_are_an_error(
    readlet: Run, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr("readlet.cli._end_now", lambda code: None)
    done = readlet("experiment", "run", table)
    assert done.code == 2
    assert "--ray" in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "quick.toml", "--only", "width 13"], "did you mean 'width 12'"),
        (["run", "quick.toml", "--data", "nowhere"], "nowhere: --data: no such folder"),
        (["run", "quick.toml", "--set", "training.epoch=1"], "training.epoch"),
        (["run", "no-such-table"], "no-such-table: "),
        (["run", "qacnn-ablation"], "--data"),
        (["report", "quick.toml", "--format", "pdf"], "--format: pdf: "),
    ],
)
def test_bad_input_is_one_line(readlet: Run, table: str, words: list[str], message: str) -> None:
    result = readlet("experiment", *words)
    assert result.code == 2
    assert message in result.err
    assert len(result.err.strip().splitlines()) == 1


@pytest.mark.parametrize("name", shipped_tables())
def test_the_small_variant_of_every_table_runs(
    readlet: Run, name: str, tmp_path: Path, long_encoder: Path, few_questions: Path
) -> None:
    """Two rows of each are enough: all rows are validated before the first run."""
    small = load_table(name).smaller()
    # The tables of encoders have rows that differ in their epochs only.
    short = [f"data.dev={few_questions}", "data.max_context=80", "data.overlap=16"]
    changes = {
        "qacnn": ["training.epochs=1", "data.share=0.2", *short],
        "encoder": [f"model.encoder={long_encoder}", *short],
        "classifier": [f"model.encoder={long_encoder}"],
    }[load_recipe(small.recipe).model.kind]
    rows = [row.name for row in expand(small, changes=changes).rows][:2]
    only = [word for row in rows for word in ("--only", row)]
    sets = [word for change in changes for word in ("--set", change)]
    words = ("--small", "--out", tmp_path, "--seeds", 1, *sets)
    made = readlet("experiment", "run", name, *words, *only)
    assert made.code == 0, made.err
    assert f"{len(rows)} of {len(rows)} done" in made.err
    done = readlet("experiment", "report", name, *words)
    assert done.code == 0, done.err
    assert (tmp_path / f"{name}-small.md").is_file()
