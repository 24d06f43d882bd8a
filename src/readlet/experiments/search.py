"""Search for a better recipe: Optuna proposes, the runner trains, the best recipe is written out.

Interrupted at any moment it goes on: Optuna's journal and the folders of the runs are all it needs.
"""

import hashlib
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from readlet.errors import FailedTrainingError, ReadletError, bad_input
from readlet.experiments.grid import Grid, Run, look_up
from readlet.experiments.keys import run_key
from readlet.experiments.runner import Runner
from readlet.experiments.store import DamagedRunError, RunFolder
from readlet.experiments.table import Range, Search
from readlet.recipe.recipe import Recipe
from readlet.recipe.recipe_files import changed_values, parse_recipe, recipe_toml
from readlet.storage.files import atomic_text
from readlet.storage.locks import locked

if TYPE_CHECKING:
    from optuna import Study, Trial

BEST = "best.toml"
_JOURNAL = "search.journal"
_STARTUP_TRIALS = 4  # trials that nothing prunes: a median of fewer says little
_STEPS_AN_EPOCH = 1000  # Optuna counts whole steps
_REFUSED_IN_A_ROW = 20  # proposals that are no recipe: then hardly any is
_REFUSED = "refused"  # what marks such a trial
_VALUES_CHECKED = 100  # of a range of whole numbers


@dataclass(frozen=True)
class Trying:
    """One trial, for whoever watches."""

    number: int
    of: int
    values: dict[str, Any]
    score: float | None = None
    pruned: bool = False
    failed: str = ""  # why training came to nothing
    refused: str = ""  # why the recipe does not take these values


@dataclass(frozen=True)
class Found:
    """What a search has found."""

    score: float
    values: dict[str, Any]
    recipe: Path
    trials: int
    pruned: int


def search(
    grid: Grid, out: Path, tell: Callable[[Trying], None], *, trials: int | None = None
) -> Found:
    """Try recipes until `trials` are done, counting those of earlier calls."""
    _optuna()
    settings = grid.table.search
    if settings is None:
        remedy = "add [search.ranges]"
        raise bad_input(grid.table.told_as, "search", "has no ranges to search", remedy)
    _refuse_several_processes()
    if grid.rows[0].missing:
        fault = f"the baseline needs {grid.rows[0].missing}"
        raise bad_input(grid.table.told_as, "search", fault, "begin with a row that can be run")
    base = grid.runs[0].recipe
    _check_ranges(grid, settings)
    with locked(out / ".locks" / _JOURNAL) as free:
        if not free:
            raise ReadletError(f"{out}: another process searches here; wait for it")
        study = _open_study(out, _study_name(grid, base), settings)
        total = settings.trials if trials is None else trials
        _try_all(study, grid, settings, out, total, tell)
    return _write_best(study, grid, settings, out)


def _check_ranges(grid: Grid, settings: Search) -> None:
    """Every value that may be proposed, its files too, before an hour is spent on the others."""
    source = f"{grid.table.told_as}, search.ranges"
    for name, values in settings.ranges.items():
        if name.count(".") != 1:
            raise bad_input(source, name, "no such field", "write section.field")
        if name == "training.seed":
            raise bad_input(source, name, "the luckiest seed is no better recipe", "leave it out")
        for value in values.choices or (values.low, values.high):
            run_key(_changed(grid, {name: value}))
        if _is_whole(name, values, grid.runs[0].recipe):
            _check_between(grid, name, values)


def _check_between(grid: Grid, name: str, values: Range) -> None:
    """Some numbers, such as even ones, may be refused though those around them are not."""
    numbers = range(int(values.low or 0), int(values.high or 0) + 1)
    if len(numbers) > _VALUES_CHECKED:
        return
    refused: dict[int, ReadletError] = {}
    for number in numbers:
        try:
            _changed(grid, {name: number})
        except ReadletError as error:
            refused[number] = error
    if refused:
        allowed = [number for number in numbers if number not in refused]
        first = next(iter(refused.values()))
        raise ReadletError(f"{first}; give choices = {allowed} instead of low and high")


def _try_all(
    study: "Study",
    grid: Grid,
    settings: Search,
    out: Path,
    total: int,
    tell: Callable[[Trying], None],
) -> None:
    optuna = _optuna()
    runner = Runner(out)
    refused = 0  # in a row
    while (done := len(_done(study))) < total:
        trial = study.ask()
        for name, listed in settings.ranges.items():
            _suggest(trial, name, listed, grid.runs[0].recipe)
        values = _chosen(trial.params, settings)
        try:
            recipe = _changed(grid, values)
        except ReadletError as error:  # values that do not go together
            # Not as failed: Optuna would forget it, and propose the like again and again.
            trial.set_user_attr(_REFUSED, True)
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            tell(Trying(done + 1, total, values, refused=str(error)))
            refused += 1
            if refused == _REFUSED_IN_A_ROW:
                fault = f"{refused} proposals in a row are no recipe"
                remedy = "choose ranges whose values go together"
                raise bad_input(grid.table.told_as, "search.ranges", fault, remedy) from None
            continue
        refused = 0
        tell(Trying(done + 1, total, values))
        try:
            score = _try(runner, out, _judged(recipe, settings), trial, settings)
        except (optuna.TrialPruned, FailedTrainingError) as error:  # no use, no reason to stop
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            tell(Trying(done + 1, total, values, pruned=True, failed=str(error)))
        except ReadletError:  # the next trial would meet the same
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
            raise
        else:
            study.tell(trial, score)
            tell(Trying(done + 1, total, values, score))


def _try(runner: Runner, out: Path, recipe: Recipe, trial: "Trial", settings: Search) -> float:
    optuna = _optuna()
    run = Run(f"trial {trial.number}", recipe.training.seed, recipe, run_key(recipe))
    folder = RunFolder(out / run.key)
    say = partial(print, file=sys.stderr)
    try:
        folder.read()
    except DamagedRunError as error:
        say(f"{error}; the folder is now {folder.set_aside().name}")

    def watch(epoch: float, scores: dict[str, float]) -> None:
        trial.report(_score(scores, settings), round(epoch * _STEPS_AN_EPOCH))
        if trial.should_prune():
            raise optuna.TrialPruned

    try:
        finished = runner.make(run, watch, say)
    except (optuna.TrialPruned, FailedTrainingError):
        shutil.rmtree(folder.work, ignore_errors=True)
        raise
    assert finished is not None  # the whole search is claimed
    return _score(finished.result.scores, settings)


def _score(scores: dict[str, float], settings: Search) -> float:
    if settings.metric not in scores:
        fault = f"the questions have no {settings.metric}"
        raise bad_input("search.metric", "", fault, f"choose from {', '.join(scores)}")
    return scores[settings.metric]


def _judged(recipe: Recipe, settings: Search) -> Recipe:
    """With the questions that decide in the place of dev."""
    if settings.on == "dev":
        return recipe
    return recipe.model_copy(update={"data": recipe.data.model_copy(update={"dev": ""})})


def _open_study(out: Path, name: str, settings: Search) -> "Study":
    """The study in the folder; a trial that was cut off is asked for once more."""
    optuna = _optuna()
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = JournalStorage(JournalFileBackend(str(out / _JOURNAL)))
    pruner: Any = optuna.pruners.NopPruner()
    if settings.prune:
        pruner = optuna.pruners.MedianPruner(n_startup_trials=_STARTUP_TRIALS)
    study: Study = optuna.create_study(
        storage=storage, study_name=name, direction="maximize", pruner=pruner, load_if_exists=True
    )
    # Not the same draws again after an interruption.
    study.sampler = optuna.samplers.TPESampler(seed=len(study.trials))
    for trial in study.get_trials(states=(optuna.trial.TrialState.RUNNING,)):
        study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
        study.enqueue_trial(trial.params)
    return study


def _done(study: "Study") -> list[Any]:
    """Trials that were trained, to their end or not."""
    states = _optuna().trial.TrialState
    told = study.get_trials(deepcopy=False, states=(states.COMPLETE, states.PRUNED))
    return [trial for trial in told if _REFUSED not in trial.user_attrs]


def _study_name(grid: Grid, base: Recipe) -> str:
    """Trials count together only if they have all in common but what is searched."""
    settings = grid.table.search
    assert settings is not None
    same = (run_key(base), settings.metric, settings.on, repr(settings.ranges))
    return f"{grid.table.name}-{hashlib.sha256(repr(same).encode()).hexdigest()[:8]}"


def _refuse_several_processes() -> None:
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ReadletError("search: one process proposes and trains; run it without a launcher")


def _suggest(trial: "Trial", name: str, values: Range, base: Recipe) -> None:
    low, high = values.low, values.high
    if values.choices:  # by number: Optuna takes no lists
        trial.suggest_categorical(name, range(len(values.choices)))
    elif _is_whole(name, values, base):
        trial.suggest_int(name, int(low or 0), int(high or 0), log=values.log)
    else:
        trial.suggest_float(name, low or 0.0, high or 0.0, log=values.log)


def _is_whole(name: str, values: Range, base: Recipe) -> bool:
    """Whether it is a range of whole numbers."""
    section, field = name.split(".")
    return not values.choices and isinstance(getattr(getattr(base, section), field), int)


def _chosen(proposed: dict[str, Any], settings: Search) -> dict[str, Any]:
    """The values that Optuna's proposals stand for."""
    choices = {name: settings.ranges[name].choices for name in proposed}
    return {n: choices[n][value] if choices[n] else value for n, value in proposed.items()}


def _changed(grid: Grid, values: dict[str, Any]) -> Recipe:
    changes: dict[str, dict[str, Any]] = {}
    for path, value in values.items():
        section, field = path.split(".")
        changes.setdefault(section, {})[field] = value
    nested = changed_values(grid.runs[0].recipe.model_dump(exclude_unset=True), changes)
    source = f"{grid.table.told_as}, search.ranges"
    found = look_up(parse_recipe(nested, source), grid.folders).model_dump()
    for path in values:  # the files of the other fields are looked up already
        section, field = path.split(".")
        nested[section][field] = found[section][field]
    return parse_recipe(nested, source)


def _write_best(study: "Study", grid: Grid, settings: Search, out: Path) -> Found:
    states = _optuna().trial.TrialState
    if not study.get_trials(deepcopy=False, states=(states.COMPLETE,)):
        fault = "no trial came to its end"
        raise bad_input(grid.table.told_as, "search.ranges", fault, "widen them or try more")
    best = study.best_trial
    values = _chosen(best.params, settings)
    # A name of its own: `readlet train` would put the reader among the runs of the table.
    recipe = _changed(grid, values).model_copy(update={"name": f"{grid.table.name}-best"})
    kind = "held-out questions" if settings.on == "held-out" else "dev questions"
    with atomic_text(out / BEST) as stream:
        stream.write(f"# The best of {len(_done(study))} trials by {settings.metric} on the ")
        stream.write(f"{kind}: {best.value:.2f}\n{recipe_toml(recipe)}")
    done = _done(study)
    pruned = sum(trial.state == states.PRUNED for trial in done)
    return Found(float(best.value or 0), values, out / BEST, len(done), pruned)


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise ReadletError("search: Optuna is missing; pip install 'readlet[search]'") from None
    return optuna
