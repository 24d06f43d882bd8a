"""Train the runs of a grid, one after the other, in one process.

This way runs share data, vocabulary and features in memory, and compiled programs on a GPU. A
finished run is never repeated, and an interrupted one resumes at its last checkpoint.
"""

import hashlib
import json
import os
import platform
import shutil
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch

from readlet.console import say
from readlet.errors import ReadletError
from readlet.experiments.grid import Grid, Run, run_key
from readlet.experiments.store import (
    ANSWERS,
    LOG,
    READER,
    RESULT,
    SCORES,
    FinishedRun,
    Result,
    RunFolder,
    check_runs,
    find_finished,
    read_log,
    versions,
)
from readlet.inference.prediction_files import write_predictions
from readlet.recipe.recipe import Recipe, fields_with
from readlet.storage.files import atomic_text
from readlet.storage.overwrite import make_folder
from readlet.storage.sections import AffectsCompilation
from readlet.storage.stored_files import save_tensors
from readlet.training.run_folder import inputs_of
from readlet.training.train import Trained, train
from readlet.training.training_data import RecentData


class Runner:
    """Trains one run after the other and caches what the next one can reuse."""

    def __init__(self, out: Path, *, keep_readers: bool = False, data_sets: int = 4) -> None:
        versions()  # cache them now: the code on disk may change while runs are trained
        self._out = out
        self._keep_readers = keep_readers
        self._recent = RecentData(capacity=data_sets)
        self._programs: Any = None

    def make(self, run: Run) -> FinishedRun:
        """Train or resume a run and store its results; `BusyError` if another process does it."""
        folder = RunFolder(self._out / run.key)
        with folder.claimed():
            finished = folder.read()  # another process may have finished it in the meantime
            return finished or self._make(run, folder)

    def _make(self, run: Run, folder: RunFolder) -> FinishedRun:
        self._forget_other_programs(run.recipe)
        _reject_changed_data(run)
        resume = folder.is_begun
        _prepare_work(folder, run.recipe, resume=resume)
        trained = train(
            run.recipe,
            folder.work,
            resume=resume,
            recent=self._recent,
            # It would be removed at once: of short runs, writing it takes a good part of the time.
            saves_last=False,
        )
        _reject_changed_data(run)
        finish(folder, run, trained, _machine(), keep_reader=self._keep_readers)
        finished = folder.read()
        assert finished is not None
        return finished

    def _forget_other_programs(self, recipe: Recipe) -> None:
        if self._programs != (programs := _programs(recipe)):
            if torch.cuda.is_available():  # where programs are compiled
                torch._dynamo.reset()  # programs of other networks count towards its limit
            self._programs = programs


Made = Iterator[tuple[Run, FinishedRun | ReadletError]]
"""Runs with their results, in the order in which they end."""


def run_grid(grid: Grid, out: Path, *, keep_readers: bool = False) -> dict[str, FinishedRun]:
    """Train the runs that are not finished, and return the finished runs by key.

    A run that fails does not stop the others.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ReadletError("runs are trained in one process; give --ray, without accelerate launch")

    def in_turn(left: Sequence[Run], begun: Callable[[Run], None]) -> Made:
        seeds = len({run.seed for run in grid.runs})
        runner = Runner(out, keep_readers=keep_readers, data_sets=max(4, min(seeds, 10)))
        for run in left:
            begun(run)
            try:
                yield run, runner.make(run)
            except ReadletError as error:
                yield run, error

    return complete(grid, out, in_turn)


def complete(
    grid: Grid, out: Path, make: Callable[[Sequence[Run], Callable[[Run], None]], Made]
) -> dict[str, FinishedRun]:
    """Let `make` train the runs that are not finished, with a message when one begins or ends."""
    check_runs(out, [path for run in grid.runs for path in inputs_of(run.recipe)])
    make_folder(out)
    done, damaged = find_finished(grid, out)
    if damaged:
        raise ReadletError(damaged[0])
    failures: list[str] = []

    def count() -> str:
        return f"{len(done)} of {len(grid.runs)} done"

    left = [run for run in grid.runs if run.key not in done]
    for run, made in make(left, lambda run: say(f"{count()}: {run.label}")):
        if isinstance(made, ReadletError):
            failures.append(f"{run.label}: {made}")
            say(f"{run.label}: failed: {made}")
            continue
        done[run.key] = made
        scores = made.task.progress(made.result.scores)
        say(f"{count()}: {run.label}: {scores}, {made.result.seconds:,.0f} s")
    say(count())
    if failures:
        failed = f"{len(failures)} of {len(grid.runs)} runs failed"
        raise ReadletError(f"{failed}; the first: {failures[0]}")
    return done


def finish(
    folder: RunFolder, run: Run, trained: Trained, machine: str, *, keep_reader: bool
) -> None:
    """Write the files of a run; the result is written last and marks the run as finished."""
    scored = trained.task.score(trained.examples, trained.predictions)
    # Single precision: a grid has hundreds of runs, and significance tests need no more.
    items = {
        name: torch.from_numpy(c.astype(np.float32) if c.dtype == np.float64 else c)
        for name, c in scored.items.items()
    }
    save_tensors(folder.path / SCORES, items)
    write_predictions(folder.path / ANSWERS, scored.answers)
    shutil.copyfile(folder.work / LOG, folder.path / LOG)
    model = trained.model
    if keep_reader:
        model.write(folder.path / READER)
    result = Result(
        key=run.key,
        task=trained.task.name,
        recipe=json.loads(run.recipe.model_dump_json()),
        scores=scored.summary,
        seconds=float(read_log(folder.path / LOG)[-1].get("seconds", 0.0)),
        steps=model.metrics["steps"],
        parameters=model.scorer.parameters,
        machine=machine,
        versions=versions(),
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        items=hashlib.sha256(json.dumps(list(scored.ids)).encode()).hexdigest()[:16],
    )
    with atomic_text(folder.path / RESULT) as stream:
        stream.write(result.model_dump_json(indent=1))
    shutil.rmtree(folder.work, ignore_errors=True)


def _programs(recipe: Recipe) -> Any:
    """The fields that compiled programs depend on; runs with equal values share them."""
    return [(field.path, field.value) for field in fields_with(recipe, AffectsCompilation)]


def _prepare_work(folder: RunFolder, recipe: Recipe, *, resume: bool) -> None:
    folder.work.mkdir(parents=True, exist_ok=True)
    if resume:  # the key is the same, but the files may have moved
        with atomic_text(folder.work / "recipe.json") as stream:
            stream.write(recipe.model_dump_json(indent=1))


def _reject_changed_data(run: Run) -> None:
    if run_key(run.recipe) != run.key:
        raise ReadletError("its data files changed while the command was running; run it again")


def _machine() -> str:
    if torch.cuda.is_available():
        return f"1 × {torch.cuda.get_device_name()}"
    return f"{platform.machine()} processor, {torch.get_num_threads()} threads"
