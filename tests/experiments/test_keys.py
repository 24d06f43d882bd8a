"""What a run is known by."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from readlet.errors import ReadletError
from readlet.experiments.grid import expand, run_key
from readlet.experiments.table import load_table
from readlet.formats import source_path
from readlet.recipe import load_recipe

Write = Callable[..., str]


def test_the_key_is_of_content_not_of_place(tmp_path: Path) -> None:
    here, there = tmp_path / "a.json", tmp_path / "elsewhere" / "b.json"
    there.parent.mkdir()
    shutil.copy(source_path("bundled:train"), here)
    shutil.copy(source_path("bundled:train"), there)
    keys = {run_key(load_recipe("tiny", [f"data.train=['{path}']"])) for path in (here, there)}
    assert keys == {run_key(load_recipe("tiny"))}
    here.write_text(here.read_text().replace("a", "b", 1))
    assert run_key(load_recipe("tiny", [f"data.train=['{here}']"])) not in keys


@pytest.mark.parametrize(
    "change", ["training.seed=1", "model.width=47", "data.held_out=0.06", "training.epochs=19"]
)
def test_every_field_counts_but_the_name(change: str) -> None:
    assert run_key(load_recipe("tiny", [change])) != run_key(load_recipe("tiny"))
    assert run_key(load_recipe("tiny", ["name=other"])) == run_key(load_recipe("tiny"))


def test_data_files_are_looked_up_in_folders(write_table: Write, tmp_path: Path) -> None:
    path = write_table(("data.max_context", 'data.dev = "mine.json"\ndata.max_context'))
    with pytest.raises(ReadletError, match=r"mine.json: no such file; name its folder with --data"):
        expand(load_table(path))
    (tmp_path / "data").mkdir()
    shutil.copy(source_path("bundled:dev"), tmp_path / "data" / "mine.json")
    grid = expand(load_table(path), folders=[tmp_path, tmp_path / "data"])
    assert grid.runs[0].recipe.data.dev == str(tmp_path / "data" / "mine.json")


def test_changes_for_every_run(write_table: Write) -> None:
    grid = expand(load_table(write_table()), changes=["training.epochs=5"])
    assert {run.recipe.training.epochs for run in grid.runs} == {5}
    with pytest.raises(ReadletError, match="did you mean 'epochs'"):
        expand(load_table(write_table()), changes=["training.epoch=5"])
