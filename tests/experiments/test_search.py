"""Search over ranges: what is proposed, pruned, resumed and written out."""

import math
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from readlet.errors import FailedTrainingError, ReadletError
from readlet.experiments import search as module
from readlet.experiments.grid import Grid, Run, expand
from readlet.experiments.search import TrialReport, search
from readlet.experiments.table import load_table
from readlet.formats import source_path
from readlet.recipe.recipe_files import load_recipe, recipe_toml, shipped_recipes

pytest.importorskip("optuna", reason="Optuna is not installed")

Write = Callable[..., str]
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
    """In place of training: a score that is best at a rate of 1e-3. The runs asked for."""
    runs: list[Run] = []

    def make(
        self: object, run: Run, watch: Callable[[float, dict[str, float]], None], tell: object
    ) -> Any:
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
    told: list[TrialReport] = []
    found = search(grid, tmp_path, told.append)
    scores = [trial.score for trial in told if trial.score is not None]
    assert found.score == max(scores)
    assert found.trials == 12
    assert found.pruned == sum(trial.pruned for trial in told)
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


def test_dev_decides_only_if_the_table_says_so(
    write_table: Write, trained: list[Run], tmp_path: Path
) -> None:
    more = RANGES.replace("trials = 12", 'trials = 1\non = "dev"')
    search(expand(load_table(write_table(more=more))), tmp_path, lambda trial: None)
    assert trained[0].recipe.data.dev == "bundled:dev"


def test_bad_trials_are_stopped_early(grid: Grid, trained: list[Run], tmp_path: Path) -> None:
    told: list[TrialReport] = []
    search(grid, tmp_path, told.append, trials=30)
    assert any(trial.pruned for trial in told)
    assert not any(trial.pruned for trial in told[:8])  # the first four, told twice each


def test_it_goes_on_where_it_stopped(grid: Grid, trained: list[Run], tmp_path: Path) -> None:
    search(grid, tmp_path, lambda trial: None, trials=3)
    search(grid, tmp_path, lambda trial: None, trials=3)
    assert len(trained) == 3
    found = search(grid, tmp_path, lambda trial: None, trials=5)
    assert found.trials == len(trained) == 5
    assert len({run.key for run in trained}) == 5


def test_a_trial_that_was_cut_off_is_tried_again(
    grid: Grid, trained: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = module.Runner.make

    def interrupted(self: Any, run: Run, watch: Any, tell: Any) -> Any:
        make(self, run, watch, tell)
        raise KeyboardInterrupt

    monkeypatch.setattr(module.Runner, "make", interrupted)
    with pytest.raises(KeyboardInterrupt):
        search(grid, tmp_path, lambda trial: None, trials=2)
    monkeypatch.setattr(module.Runner, "make", make)
    search(grid, tmp_path, lambda trial: None, trials=2)
    assert len(trained) == 3
    assert trained[0].key == trained[1].key  # its checkpoints lie there
    assert trained[2].key != trained[0].key


def test_a_trial_that_diverges_does_not_stop_the_search(
    grid: Grid, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(self: object, run: Run, watch: object, tell: object) -> None:
        raise FailedTrainingError("training diverges")

    monkeypatch.setattr(module.Runner, "make", make)
    with pytest.raises(ReadletError, match="no trial came to its end"):
        search(grid, tmp_path, lambda trial: None, trials=2)


def test_a_trial_that_is_too_large_is_told_and_does_not_stop_the_search(
    grid: Grid, trained: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, told = module.Runner.make, list[TrialReport]()

    def too_large(self: Any, run: Run, watch: Any, tell: Any) -> Any:
        if run.recipe.model.blocks == 3:
            raise FailedTrainingError("the GPU's memory is full")
        return make(self, run, watch, tell)

    monkeypatch.setattr(module.Runner, "make", too_large)
    found = search(grid, tmp_path, told.append)
    failed = [trial for trial in told if trial.failed]
    assert {trial.failed for trial in failed} == {"the GPU's memory is full"}
    assert {trial.values["model.blocks"] for trial in failed} == {3}
    assert found.values["model.blocks"] in (1, 2)


def test_a_damaged_trial_is_set_aside_and_made_again(
    grid: Grid, trained: list[Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for run in _asked_first(grid, trained, tmp_path / "elsewhere"):
        (tmp_path / "here" / run.key).mkdir(parents=True)
        (tmp_path / "here" / run.key / "result.json").write_text("{}")
    assert search(grid, tmp_path / "here", lambda trial: None, trials=1).trials == 1
    assert "is damaged" in capsys.readouterr().err
    assert (tmp_path / "here" / f"{trained[0].key}.damaged-0").is_dir()


def _asked_first(grid: Grid, trained: list[Run], out: Path) -> list[Run]:
    """The first proposal, which is the same in every folder."""
    search(grid, out, lambda trial: None, trials=1)
    return trained[:1]


def test_a_fault_of_the_input_stops_the_search_and_uses_up_no_trial(
    grid: Grid, trained: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = module.Runner.make

    def faulty(self: object, run: Run, watch: object, tell: object) -> None:
        raise ReadletError("no such question")

    monkeypatch.setattr(module.Runner, "make", faulty)
    with pytest.raises(ReadletError, match="no such question"):
        search(grid, tmp_path, lambda trial: None, trials=2)
    monkeypatch.setattr(module.Runner, "make", make)
    assert search(grid, tmp_path, lambda trial: None, trials=2).trials == len(trained) == 2


def test_other_ranges_or_settings_begin_anew(
    write_table: Write, trained: list[Run], tmp_path: Path
) -> None:
    for more in (RANGES, RANGES.replace('["cosine", "linear"]', '["cosine", "constant"]')):
        found = search(
            expand(load_table(write_table(more=more))), tmp_path, lambda trial: None, trials=2
        )
        assert found.trials == 2
    assert len(trained) == 4


def test_whole_numbers_for_a_field_of_numbers(
    write_table: Write, trained: list[Run], tmp_path: Path
) -> None:
    more = RANGES.replace('"model.blocks" = { low = 1', '"training.clip" = { low = 1')
    found = search(
        expand(load_table(write_table(more=more))), tmp_path, lambda trial: None, trials=3
    )
    assert isinstance(found.values["training.clip"], float)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("training.learning_rate", "training.learning_rat", "did you mean 'learning_rate'"),
        ("low = 1, high = 3", "low = 1", "either low and high, or choices"),
        ("low = 1, high = 3", "low = 3, high = 1", "low must be smaller"),
        ("low = 1e-5", "low = -1.0", "above 0"),
        ("low = 1e-5", 'low = "little"', "learning_rate.low: .*; it is 'little'"),
        ("low = 1, high = 3", "low = 1.5, high = 3", "model.blocks: .*; it is 1.5"),
        ("low = 1, high = 3", "low = 0, high = 3", "model.blocks"),
        ('["cosine", "linear"]', '["cosine", "stairs"]', "training.schedule"),
        ("learning_rate", "learning_rate.x", "learning_rate.x: no such field; write section.field"),
        ("training.learning_rate", "learning_rate", "learning_rate: no such field; write section"),
        ('"model.blocks"', '"training.seed"', "training.seed: the luckiest seed is no better"),
        ("model.blocks", "modle.blocks", "did you mean 'model'"),
        (
            '"model.blocks" = { low = 1, high = 3',
            '"model.kernel" = { low = 1, high = 7',
            r"kernel: Input should be odd; it is 2; give choices = \[1, 3, 5, 7\] instead of low",
        ),
        (
            '"training.schedule" = { choices = ["cosine", "linear"]',
            '"data.train" = { choices = [["bundled:train"], ["gone.json"]]',
            "gone.json: no such file; name its folder with --data",
        ),
    ],
)
def test_wrong_ranges_are_told(
    write_table: Write, tmp_path: Path, old: str, new: str, told: str
) -> None:
    path = write_table(more=RANGES.replace(old, new))
    with pytest.raises(ReadletError, match=told):
        search(expand(load_table(path)), tmp_path, pytest.fail)  # before the first trial


@pytest.mark.filterwarnings("error")
def test_files_may_be_searched(write_table: Write, trained: list[Run], tmp_path: Path) -> None:
    """Lists of them, each looked up as those of the table are."""
    (tmp_path / "data").mkdir()
    for name in ("one.json", "two.json"):
        shutil.copy(source_path("bundled:train"), tmp_path / "data" / name)
    choices = '[["one.json"], ["one.json", "two.json"]]'
    more = f'[search]\ntrials = 6\n[search.ranges]\n"data.train" = {{ choices = {choices} }}\n'
    grid = expand(load_table(write_table(more=more)), folders=[tmp_path / "data"])
    found = search(grid, tmp_path / "out", lambda trial: None)
    named = [[Path(name).name for name in run.recipe.data.train] for run in trained]
    assert {len(names) for names in named} == {1, 2}
    assert found.values["data.train"] in named
    assert all(Path(name).is_file() for run in trained for name in run.recipe.data.train)
    best = load_recipe(str(found.recipe)).data.train
    assert [Path(name).name for name in best] == found.values["data.train"]


def test_only_what_is_searched_is_looked_up_again(
    write_table: Write, trained: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of the table stays where it was found: in `data`, not in a `data` therein."""
    monkeypatch.chdir(tmp_path)
    for name in ("data/one.json", "data/data/one.json"):
        Path(name).parent.mkdir()
        shutil.copy(source_path("bundled:train"), name)
    table = write_table(("data.max", 'data.train = ["one.json"]\ndata.max'), more=RANGES)
    search(
        expand(load_table(table), folders=[Path("data")]), tmp_path, lambda trial: None, trials=1
    )
    assert trained[0].recipe.data.train == ("data/one.json",)


def test_a_proposal_that_is_no_recipe_does_not_stay_in_the_way(
    write_table: Write, trained: list[Run], tmp_path: Path
) -> None:
    """Each value goes with the table's other one, but two of the four pairs do not go together."""
    more = """[search.ranges]
"training.schedule" = { choices = ["log", "cosine"] }
"training.final_decay" = { choices = [0.0, 0.5] }
"""
    path = write_table(("training.epochs", 'training.schedule = "log"\ntraining.epochs'), more=more)
    told: list[TrialReport] = []
    found = search(expand(load_table(path)), tmp_path, told.append, trials=8)
    assert found.trials == len(trained) == 8
    refused = [trial for trial in told if trial.refused]
    assert refused
    for trial in refused:
        assert trial.values == {"training.schedule": "cosine", "training.final_decay": 0.5}
        assert "training.final_decay needs a schedule that is constant or log" in trial.refused
        assert sum(other.number == trial.number for other in told) > 1  # its number was used again


def test_pairs_that_are_no_recipes_are_learned_from(
    write_table: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else Optuna takes their corner for one that nobody has looked into, and stays there."""
    more = """[search.ranges]
"data.overlap" = { low = 10, high = 190 }
"data.max_context" = { low = 25, high = 300 }
"""
    path = write_table(("data.max_context = ", "data.max_context = 200 #"), more=more)
    monkeypatch.setattr(module, "_try", lambda *parts: float(parts[2].data.overlap))
    told: list[TrialReport] = []
    found = search(expand(load_table(path)), tmp_path, told.append, trials=40)
    assert (found.trials, found.pruned) == (40, 0)
    assert any(trial.refused for trial in told)
    assert found.values["data.overlap"] > 150


def test_proposals_that_are_never_recipes_end_the_search(
    write_table: Write, trained: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[TrialReport] = []
    changed = module._changed

    def refuse(grid: Grid, values: dict[str, Any]) -> Any:
        if len(values) == 3:
            raise ReadletError("these do not go together")
        return changed(grid, values)

    grid = expand(load_table(write_table(more=RANGES)))
    monkeypatch.setattr(module, "_changed", refuse)
    with pytest.raises(ReadletError, match=r"20 proposals in a row are no recipe; choose ranges"):
        search(grid, tmp_path, told.append)
    assert len(told) == 20
    assert not trained
    monkeypatch.undo()


def test_a_finished_run_without_the_metric_is_told(
    write_table: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(self: object, run: Run, watch: object, tell: object) -> Any:
        return SimpleNamespace(result=SimpleNamespace(scores={"f1": 50.0, "exact": 40.0}))

    monkeypatch.setattr(module.Runner, "make", make)
    more = RANGES.replace("trials = 12", 'trials = 1\nmetric = "NoAns_f1"')
    told = "search.metric: the questions have no NoAns_f1; choose from f1, exact"
    with pytest.raises(ReadletError, match=told):
        search(expand(load_table(write_table(more=more))), tmp_path, lambda trial: None)


def test_a_baseline_that_cannot_be_run_is_not_searched_from(
    write_table: Write, tmp_path: Path
) -> None:
    path = write_table(
        ('"match" = {}', '"match" = { missing = "a part" }'),
        ("seeds = 2", 'seeds = 2\ncombine = "all"'),
        ('[paper."width 12"]', '[paper."width 12 / match"]'),
        more=RANGES,
    )
    with pytest.raises(ReadletError, match=r"search: the baseline needs a part; begin with"):
        search(expand(load_table(path)), tmp_path, pytest.fail)


def test_a_table_without_ranges_cannot_be_searched(write_table: Write, tmp_path: Path) -> None:
    with pytest.raises(ReadletError, match=r"add \[search.ranges\]"):
        search(expand(load_table(write_table())), tmp_path, lambda trial: None)


@pytest.mark.parametrize("name", shipped_recipes())
def test_a_recipe_survives_its_file(name: str, tmp_path: Path) -> None:
    files = ["data.train=['a \"b\".json', 'ü.json', '𠮷.json', '\\.json']", "data.dev=\x7f\t.json"]
    recipe = load_recipe(name, [*files, "training.ema=0.5"])
    (tmp_path / "it.toml").write_text(recipe_toml(recipe))
    assert load_recipe(str(tmp_path / "it.toml")) == recipe
