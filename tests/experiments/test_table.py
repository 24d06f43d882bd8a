"""Table files: what they may contain, and the messages for errors in them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from readlet.errors import ReadletError
from readlet.experiments.grid import expand
from readlet.experiments.spec import load_table, shipped_tables
from readlet.models.recipe_files import load_recipe

Write = Callable[..., str]


@pytest.mark.parametrize("name", shipped_tables())
def test_every_shipped_table_loads(name: str, long_encoder: Path) -> None:
    table = load_table(name)
    assert table.name == name
    assert "\n" not in table.title
    assert table.small is not None
    kind = load_recipe(table.small.recipe).model.kind
    changes = [f"model.encoder={long_encoder}"] if kind in ("encoder", "classifier") else []
    assert expand(table.smaller(), changes=changes).runs


def test_each_changes_one_axis_at_a_time(write_table: Write) -> None:
    grid = expand(load_table(write_table()))
    assert [row.name for row in grid.rows] == ["baseline", "width 12", "no match"]
    assert [(run.row, run.seed) for run in grid.runs[:3]] == [
        ("baseline", 0),
        ("baseline", 1),
        ("width 12", 0),
    ]
    assert grid.comparisons == [("width 12", "baseline"), ("no match", "baseline")]
    wide = next(run for run in grid.runs if run.row == "width 12" and run.seed == 1).recipe
    assert (wide.model.width, wide.model.match_features, wide.training.seed) == (12, True, 1)
    assert wide.training.epochs == 2


def test_all_combines_every_choice(write_table: Write) -> None:
    path = write_table(
        ("seeds = 2", 'seeds = [3, 5]\ncombine = "all"'),
        ('[paper."width 12"]', '[paper."width 12 / match"]'),
    )
    grid = expand(load_table(path))
    assert [row.name for row in grid.rows] == [
        "width 8 / match",
        "width 8 / no match",
        "width 12 / match",
        "width 12 / no match",
    ]
    assert {run.seed for run in grid.runs} == {3, 5}
    assert len({run.key for run in grid.runs}) == len(grid.runs) == 8


def test_listed_combinations(write_table: Write) -> None:
    listed = 'combine = [["width 8", "match"], ["width 12", "no match"]]'
    path = write_table(
        ("seeds = 2", f"seeds = 1\n{listed}"),
        ('[paper."width 12"]', '[paper."width 12 / no match"]'),
    )
    grid = expand(load_table(path))
    assert [row.name for row in grid.rows] == ["width 8 / match", "width 12 / no match"]


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("model.width = 12", "model.widht = 12", "row 'width 12': model.widht"),
        ("training.epochs = 2", "training.epoch = 2", r"table\.toml, set: training.epoch"),
        ("model.width = 12", "model.width = 8", "are the same run"),
        ('[paper."width 12"]', '[paper."width 21"]', "'width 12'"),
        ("seeds = 2", "seeds = [0, 0]", "seeds: "),
        ("seeds = 2", 'seeds = 2\nmetrics = ["f2"]', "metrics.0: "),
        ("seeds = 2", 'seeds = 2\ncompare = [["a", "b"]]', "no such row"),
        ("seeds = 2", "sedes = 2", "'seeds'"),
        ("seeds = 2", 'seeds = 2\ncombine = [["width 9", "match"]]', "'width 9'"),
        ('name = "quick"', 'name = "Quick table"', "name"),
        ('"no match" =', '"width 12" =', "'width 12'"),
        ("{ model.width = 12 }", "{ training.seed = 3 }", "training.seed: "),
        ('recipe = "tiny"', 'recipe = "tny"', "tny"),
    ],
)
def test_errors_are_reported_before_anything_runs(
    write_table: Write, old: str, new: str, place: str
) -> None:
    with pytest.raises(ReadletError, match=place) as raised:
        expand(load_table(write_table((old, new))))
    assert "\n" not in str(raised.value)


def test_only_some_rows(write_table: Write) -> None:
    table = load_table(write_table())
    assert {run.row for run in expand(table, only=["no match"], seeds=3).runs} == {"no match"}
    assert len(expand(table, only=["no match"], seeds=3).runs) == 3
    with pytest.raises(ReadletError, match="did you mean 'no match'"):
        expand(table, only=["no matches"])


def test_small_variant(write_table: Write) -> None:
    small = """
[small]
seeds = 3
[small.set]
training.epochs = 7
[small.axes.width]
"narrow" = {}
"wide" = { model.width = 12 }
"""
    table = load_table(write_table(more=small)).smaller()
    grid = expand(table)
    assert table.name == "quick-small"
    assert [row.name for row in grid.rows] == ["baseline", "wide", "no match"]
    assert grid.runs[0].recipe.training.epochs == 7
    assert grid.runs[0].recipe.model.width == 48  # the changes of the full table do not apply
    with pytest.raises(ReadletError, match="--small"):
        load_table(write_table()).smaller()
