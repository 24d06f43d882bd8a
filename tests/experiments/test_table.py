"""Table files: what they may contain, and the messages for errors in them."""

import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from readlet.augmentation.config import PRESETS
from readlet.errors import ReadletError
from readlet.experiments.grid import expand
from readlet.experiments.spec import load_table, shipped_tables
from readlet.models.encoder.config import MixName
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


def test_the_tables_of_augmentation_name_the_files_of_presets() -> None:
    """Each experiment of the paper is a row, with the files of its presets."""
    found, parts = set(), {"F1": ("D1", "D2"), "F2": ("B1", "B2")}
    for kind_of_data in ("paraphrase", "multilingual"):
        table = load_table(f"augmentation-{kind_of_data}")
        for name, choice in table.axes["augmentation"].items():
            preset = re.match(r"[A-F]\d", name)
            if preset is None:
                assert name.startswith("original data")
                continue
            found.add(preset[0])
            _, *new = choice["data"]["train"]
            made = parts.get(preset[0], (preset[0],))
            kind = "-verified" if "verified" in name else "-strict"
            has_answers = "context" in PRESETS[preset[0]].fields
            assert new == [f"quarter-{one}{kind if has_answers else ''}.json.gz" for one in made]
    assert found == PRESETS.keys()


def test_the_tables_of_layer_mixing_share_their_runs(tmp_path: Path, long_encoder: Path) -> None:
    """Every mixer is in the second table; the first one shows runs of the other two."""
    for name in ("train-unanswerable", "rest-train", "rest-held", "cs224n-dev-v2.0"):
        (tmp_path / f"{name}.json.gz").write_bytes(gzip.compress(name.encode()))
    changes = [f"model.encoder={long_encoder}"]
    grids = [
        expand(load_table(f"layer-mixing-{name}"), folders=[tmp_path], changes=changes)
        for name in ("leaderboard", "2-epochs", "5-epochs")
    ]
    first, second, third = ({run.key: run.recipe for run in grid.runs} for grid in grids)
    assert {recipe.model.mix for recipe in second.values()} == set(get_args(MixName))
    assert first.keys() <= second.keys() | third.keys()
    assert not second.keys() & third.keys()
    for grid in grids:
        assert grid.table.paper
        for recipe in (run.recipe for run in grid.runs):
            assert recipe.model.encoder == str(long_encoder)
            assert not {*recipe.data.train} & {recipe.data.calibration, recipe.data.dev}


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


ONE_AXIS = ('[axes.match]\n"match" = {}\n"no match" = { model.match_features = false }\n', "")


def test_row_of_first_choices_is_named_by_its_choice_if_there_is_one(write_table: Write) -> None:
    several = expand(load_table(write_table()))
    one = expand(load_table(write_table(ONE_AXIS)))
    assert [row.name for row in one.rows] == ["width 8", "width 12"]
    assert one.comparisons == [("width 12", "width 8")]
    # The same runs, whatever the name of their row.
    assert [run.key for run in one.runs] == [run.key for run in several.runs[: len(one.runs)]]
    named = write_table(ONE_AXIS, ("seeds = 2", 'seeds = 2\nbaseline = "default"'))
    assert [row.name for row in expand(load_table(named)).rows] == ["default", "width 12"]


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


def test_files_of_rows_that_are_not_run_may_be_missing(write_table: Write) -> None:
    table = load_table(write_table(("model.width = 12", 'data.dev = "gone.json"')))
    assert len(expand(table, only=["baseline"]).runs) == 2
    with pytest.raises(ReadletError, match=r"gone\.json: no such file"):
        expand(table)


def test_constraints_between_fields_are_checked_on_the_whole_recipe(write_table: Write) -> None:
    """A context of 20 words is shorter than the default overlap, but not than this table's."""
    path = write_table(
        ("data.max_context = 100\ndata.overlap = 20", "data.overlap = 16"),
        ("{ model.width = 12 }", "{ data.max_context = 20 }"),
    )
    run = expand(load_table(path), only=["width 12"]).runs[0]
    assert (run.recipe.data.max_context, run.recipe.data.overlap) == (20, 16)


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
