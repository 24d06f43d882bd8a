"""Hyperparameter search: Optuna proposes, the runner trains, the best recipe is written to a file.

A search can be interrupted at any time and resumes from Optuna's journal and the run folders.
"""

import hashlib
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from readlet.errors import FailedTrainingError, ReadletError, bad_input, extra_needed
from readlet.experiments.grid import Grid, Run, resolve_files, run_key
from readlet.experiments.runner import Runner
from readlet.experiments.spec import Range, Search
from readlet.experiments.store import LOCKS, RunFolder, check_runs
from readlet.models.recipe_files import changed_values, parse_recipe, recipe_toml
from readlet.recipe.recipe import Recipe
from readlet.storage.files import atomic_text, locked
from readlet.storage.overwrite import make_folder

if TYPE_CHECKING:
    from optuna import Study, Trial

SEARCH, BEST, JOURNAL = "search", "best.toml", "search.journal"
_STARTUP_TRIALS = 4  # trials without pruning: a median of fewer means little
_STEPS_PER_EPOCH = 1000  # Optuna counts whole steps


@dataclass(frozen=True)
class TrialReport:
    """The state of one trial, for progress output."""

    number: int
    of: int
    values: dict[str, Any]
    result: str = ""  # its score, or why there is none; empty when it begins


@dataclass(frozen=True)
class SearchResult:
    """The best trial of a search."""

    score: float
    values: dict[str, Any]
    recipe: Path
    trials: int
    pruned: int


def search(
    grid: Grid, out: Path, report: Callable[[TrialReport], None], *, trials: int | None = None
) -> SearchResult:
    """Try recipes until `trials` are done, counting those of earlier calls."""
    from readlet.training.run_folder import inputs_of

    _optuna()
    settings = grid.table.search
    if settings is None:
        remedy = "add [search.ranges]"
        raise bad_input(grid.table.label, "search", "has no ranges to search", remedy)
    _require_single_process()
    base = grid.runs[0].recipe
    check_runs(out, inputs_of(base))
    _check_ranges(grid, settings)
    make_folder(out)
    with locked(out / LOCKS / JOURNAL) as free:
        if not free:
            raise ReadletError(f"{out}: another process is searching here; wait for it")
        study = _open_study(out, _study_name(grid, base), settings)
        total = settings.trials if trials is None else trials
        _run_trials(study, grid, settings, out, total, report)
    return _write_best(study, grid, settings, out)


def _check_ranges(grid: Grid, settings: Search) -> None:
    """Check every value that may be proposed, files included, before any trial is trained."""
    source = f"{grid.table.label}, search.ranges"
    for name, values in settings.ranges.items():
        if name.count(".") != 1:
            raise bad_input(source, name, "no such field", "write section.field")
        if name == "training.seed":
            raise bad_input(source, name, "a lucky seed is not a better recipe", "leave it out")
        # The ends of a range are floats, which a field of integers rejects.
        given = [end for end in (values.low, values.high) if end is not None]
        ends = [int(end) if float(end).is_integer() else end for end in given]
        for value in values.choices or ends:
            run_key(_changed(grid, {name: value}))


def _run_trials(
    study: "Study",
    grid: Grid,
    settings: Search,
    out: Path,
    total: int,
    report: Callable[[TrialReport], None],
) -> None:
    optuna = _optuna()
    runner = Runner(out)
    while (done := len(_done(study))) < total:
        trial = study.ask()
        for name, listed in settings.ranges.items():
            _suggest(trial, name, listed, grid.runs[0].recipe)
        values = _chosen(trial.params, settings)
        try:
            recipe = _changed(grid, values)
        except ReadletError as error:  # values that cannot be combined
            # Not as failed: Optuna would ignore it, and propose similar values again and again.
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            report(TrialReport(done + 1, total, values, f"invalid recipe ({error})"))
            continue
        report(TrialReport(done + 1, total, values))
        try:
            score = _run_trial(
                runner, out, _with_deciding_questions(recipe, settings), trial, settings
            )
        except (optuna.TrialPruned, FailedTrainingError) as error:  # the search continues
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            result = f"failed ({error})" if str(error) else "stopped early"
            report(TrialReport(done + 1, total, values, result))
        except ReadletError:  # the next trial would fail in the same way
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
            raise
        else:
            study.tell(trial, score)
            report(TrialReport(done + 1, total, values, f"{score:.2f}"))


def _run_trial(
    runner: Runner, out: Path, recipe: Recipe, trial: "Trial", settings: Search
) -> float:
    optuna = _optuna()
    run = Run(f"trial {trial.number}", recipe.training.seed, recipe, run_key(recipe))

    def watch(epoch: float, scores: dict[str, float]) -> None:
        trial.report(_score(scores, settings), round(epoch * _STEPS_PER_EPOCH))
        if trial.should_prune():
            raise optuna.TrialPruned

    try:
        finished = runner.make(run, watch)
    except (optuna.TrialPruned, FailedTrainingError):
        shutil.rmtree(RunFolder(out / run.key).work, ignore_errors=True)
        raise
    assert finished is not None  # no other process trains here: the search holds the lock
    return _score(finished.result.scores, settings)


def _score(scores: dict[str, float], settings: Search) -> float:
    if settings.metric not in scores:
        fault = f"the questions have no {settings.metric}"
        raise bad_input("search.metric", "", fault, f"choose from {', '.join(scores)}")
    return scores[settings.metric]


def _with_deciding_questions(recipe: Recipe, settings: Search) -> Recipe:
    """The recipe with the questions that decide the search as its dev data."""
    if settings.on == "dev":
        return recipe
    return recipe.model_copy(update={"data": recipe.data.model_copy(update={"dev": ""})})


def _open_study(out: Path, name: str, settings: Search) -> "Study":
    """The study in the folder; interrupted trials are enqueued again."""
    optuna = _optuna()
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = JournalStorage(JournalFileBackend(str(out / JOURNAL)))
    pruner = optuna.pruners.MedianPruner(n_startup_trials=_STARTUP_TRIALS)
    study: Study = optuna.create_study(
        storage=storage, study_name=name, direction="maximize", pruner=pruner, load_if_exists=True
    )
    # A new seed after an interruption, so that the same values are not drawn again.
    study.sampler = optuna.samplers.TPESampler(seed=len(study.trials))
    for trial in study.get_trials(states=(optuna.trial.TrialState.RUNNING,)):
        study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
        study.enqueue_trial(trial.params)
    return study


def _done(study: "Study") -> list[Any]:
    """Trials that were completed, stopped early, or had an invalid recipe."""
    states = _optuna().trial.TrialState
    return study.get_trials(deepcopy=False, states=(states.COMPLETE, states.PRUNED))


def _study_name(grid: Grid, base: Recipe) -> str:
    """Trials belong to the same study only if they agree in everything that is not searched."""
    settings = grid.table.search
    assert settings is not None
    same = (run_key(base), settings.metric, settings.on, repr(settings.ranges))
    return f"{grid.table.name}-{hashlib.sha256(repr(same).encode()).hexdigest()[:8]}"


def _require_single_process() -> None:
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ReadletError("search: runs in a single process; run it without a launcher")


def _suggest(trial: "Trial", name: str, values: Range, base: Recipe) -> None:
    low, high = values.low, values.high
    if values.choices:  # by index: Optuna does not accept lists as choices
        trial.suggest_categorical(name, range(len(values.choices)))
    elif _is_whole(name, values, base):
        trial.suggest_int(name, int(low or 0), int(high or 0), log=values.log)
    else:
        trial.suggest_float(name, low or 0.0, high or 0.0, log=values.log)


def _is_whole(name: str, values: Range, base: Recipe) -> bool:
    """Whether it is a range of integers."""
    section, field = name.split(".")
    return not values.choices and isinstance(getattr(getattr(base, section), field), int)


def _chosen(proposed: dict[str, Any], settings: Search) -> dict[str, Any]:
    """The values of Optuna's proposals, which are indices for choices."""
    choices = {name: settings.ranges[name].choices for name in proposed}
    return {n: choices[n][value] if choices[n] else value for n, value in proposed.items()}


def _changed(grid: Grid, values: dict[str, Any]) -> Recipe:
    changes: dict[str, dict[str, Any]] = {}
    for path, value in values.items():
        section, field = path.split(".")
        changes.setdefault(section, {})[field] = value
    nested = changed_values(grid.runs[0].recipe.model_dump(exclude_unset=True), changes)
    found = parse_recipe(nested, f"{grid.table.label}, search.ranges")
    return resolve_files(found, grid.folders)


def _write_best(study: "Study", grid: Grid, settings: Search, out: Path) -> SearchResult:
    states = _optuna().trial.TrialState
    if not study.get_trials(deepcopy=False, states=(states.COMPLETE,)):
        fault = "no trial was completed"
        raise bad_input(grid.table.label, "search.ranges", fault, "widen them or try more")
    best = study.best_trial
    values = _chosen(best.params, settings)
    # A separate name: `readlet train` would put the reader among the runs of the table.
    recipe = _changed(grid, values).model_copy(update={"name": f"{grid.table.name}-best"})
    kind = "held-out questions" if settings.on == "held-out" else "dev questions"
    with atomic_text(out / BEST) as stream:
        stream.write(f"# The best of {len(_done(study))} trials by {settings.metric} on the ")
        stream.write(f"{kind}: {best.value:.2f}\n{recipe_toml(recipe)}")
    done = _done(study)
    pruned = sum(trial.state == states.PRUNED for trial in done)
    return SearchResult(float(best.value or 0), values, out / BEST, len(done), pruned)


def _optuna() -> Any:
    with extra_needed("search", "search"):
        import optuna
    return optuna
