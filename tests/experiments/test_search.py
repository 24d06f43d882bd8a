"""Search over ranges: proposals, pruning, resuming and the written recipe."""

import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from readlet.errors import ReadletError
from readlet.experiments import search as module
from readlet.experiments.grid import Grid, Run, expand
from readlet.experiments.search import TrialReport, search
from readlet.experiments.spec import load_table
from readlet.models.recipe_files import load_recipe, recipe_toml, shipped_recipes

pytest.importorskip("optuna", reason="Optuna is not installed")

Write = Callable[..., str]
STOPPED = "stopped early"
RANGES = """
[search]
trials = 12
[search.ranges]
"training.learning_rate" = { low = 1e-5, high = 1e-1, log = true }
"model.blocks" = { low = 1, high = 3 }
"training.schedule" = { choices = ["cosine", "linear"] }
"""


@pytest.fixture
def grid(write_table: Write) -> Grid:
    return expand(load_table(write_table(more=RANGES)), seeds=1)


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """Replace training by a score that is best at a rate of 1e-3; the list of trained runs."""
    runs: list[Run] = []

    def make(self: object, run: Run, watch: Callable[[float, dict[str, float]], None]) -> Any:
        runs.append(run)
        score = 90 - 10 * abs(math.log10(run.recipe.training.learning_rate) + 3)
        for epoch in (1, 2):
            watch(epoch, {"f1": score - 5 + epoch, "exact": 0.0})
        return SimpleNamespace(result=SimpleNamespace(scores={"f1": score}))

    monkeypatch.setattr(module.Runner, "make", make)
    return runs


def test_the_best_recipe_is_written_and_can_be_loaded(
    grid: Grid, trained: list[Run], tmp_path: Path
) -> None:
    reports: list[TrialReport] = []
    found = search(grid, tmp_path, reports.append)
    scores = [trial.result for trial in reports if trial.result not in ("", STOPPED)]
    assert f"{found.score:.2f}" == max(scores)
    assert found.trials == 12
    assert found.pruned == sum(trial.result == STOPPED for trial in reports)
    assert len(scores) + found.pruned == 12
    best = load_recipe(str(found.recipe))
    assert best.training.learning_rate == found.values["training.learning_rate"]
    assert best.model.blocks == found.values["model.blocks"] in (1, 2, 3)
    assert best.training.schedule in ("cosine", "linear")
    assert best.model.width == 8
    assert best.name == "quick-best"
    assert best.data.dev == "bundled:dev"


def test_the_held_out_questions_decide(grid: Grid, trained: list[Run], tmp_path: Path) -> None:
    search(grid, tmp_path, lambda trial: None, trials=1)
    assert trained[0].recipe.data.dev == ""


def test_bad_trials_are_stopped_early(grid: Grid, trained: list[Run], tmp_path: Path) -> None:
    reports: list[TrialReport] = []
    search(grid, tmp_path, reports.append, trials=30)
    results = [trial.result for trial in reports]
    assert STOPPED in results
    assert STOPPED not in results[:8]  # the first four, reports twice each


def test_a_search_resumes_where_it_stopped(grid: Grid, trained: list[Run], tmp_path: Path) -> None:
    search(grid, tmp_path, lambda trial: None, trials=3)
    search(grid, tmp_path, lambda trial: None, trials=3)
    assert len(trained) == 3
    found = search(grid, tmp_path, lambda trial: None, trials=5)
    assert found.trials == len(trained) == 5
    assert len({run.key for run in trained}) == 5


def test_an_interrupted_trial_is_tried_again(
    grid: Grid, trained: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = module.Runner.make

    def interrupted(self: Any, run: Run, watch: Any) -> Any:
        make(self, run, watch)
        raise KeyboardInterrupt

    monkeypatch.setattr(module.Runner, "make", interrupted)
    with pytest.raises(KeyboardInterrupt):
        search(grid, tmp_path, lambda trial: None, trials=2)
    monkeypatch.setattr(module.Runner, "make", make)
    search(grid, tmp_path, lambda trial: None, trials=2)
    assert len(trained) == 3
    assert trained[0].key == trained[1].key  # so that its checkpoints are used
    assert trained[2].key != trained[0].key


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("training.learning_rate", "training.learning_rat", "training.learning_rat"),
        ("low = 1, high = 3", "low = 3, high = 1", "model.blocks"),
        ("low = 1e-5", "low = -1.0", "training.learning_rate"),
        ('["cosine", "linear"]', '["cosine", "stairs"]', "training.schedule"),
        ('"model.blocks"', '"training.seed"', "training.seed"),
    ],
)
def test_invalid_ranges_are_reported(
    write_table: Write, tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = write_table(more=RANGES.replace(old, new))
    with pytest.raises(ReadletError, match=message):
        search(expand(load_table(path)), tmp_path, pytest.fail)  # before the first trial


@pytest.mark.parametrize("name", shipped_recipes())
def test_a_written_recipe_is_loaded_unchanged(name: str, tmp_path: Path) -> None:
    files = ["data.train=['a \"b\".json', 'ü.json', '𠮷.json', '\\.json']", "data.dev=\x7f\t.json"]
    recipe = load_recipe(name, [*files, "training.ema=0.5"])
    (tmp_path / "it.toml").write_text(recipe_toml(recipe))
    assert load_recipe(str(tmp_path / "it.toml")) == recipe
