"""Train the runs of a grid, one after the other, in one process.

This way runs share data, vocabulary and features in memory, and compiled programs on a GPU. A
finished run is never repeated, and an interrupted one resumes at its last checkpoint.
"""

import hashlib
import json
import os
import platform
import shutil
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate.utils import broadcast_object_list

from readlet.console import say
from readlet.engine.processes import in_main, is_main_process, make_accelerator
from readlet.errors import ReadletError
from readlet.experiments.grid import Grid, Run, run_key
from readlet.experiments.store import (
    ANSWERS,
    LOG,
    READER,
    RESULT,
    RESUME_HINT,
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


class GridProgress:
    """Prints a line for each run that begins or ends; in the main process only."""

    def __init__(self, grid: Grid, done: int) -> None:
        self._runs = len(grid.runs)
        self._done = done

    @property
    def count(self) -> str:
        return f"{self._done} of {self._runs} done"

    def begun(self, run: Run) -> None:
        self.say(f"{self.count}: {run.label}")

    def finished(self, run: Run, finished: FinishedRun) -> None:
        self._done += 1
        result = finished.result
        scores = finished.task.progress(result.scores)
        self.say(f"{self.count}: {run.label}: {scores}, {result.seconds:,.0f} s")

    def failed(self, run: Run, error: ReadletError) -> None:
        self.say(f"{run.label}: failed: {error}")

    def skipped(self, run: Run) -> None:
        self.say(f"{run.label}: running in another process")

    def say(self, text: str) -> None:
        if is_main_process():
            say(text)


class Runner:
    """Trains one run after the other and caches what the next one can reuse."""

    def __init__(self, out: Path, *, keep_readers: bool = False, data_sets: int = 4) -> None:
        versions()  # cache them now: the code on disk may change while runs are trained
        self._out = out
        self._keep_readers = keep_readers
        self._recent = RecentData(capacity=data_sets)
        self._programs: Any = None
        self.processes = make_accelerator()

    def make(self, run: Run) -> FinishedRun | None:
        """Train or resume a run and store its results; None if another process is training it."""
        folder = RunFolder(self._out / run.key)
        with folder.claimed() if self.processes.is_main_process else nullcontext(True) as free:
            shared = [free]  # what the main process found, in all processes
            broadcast_object_list(shared)
            if not shared[0]:
                return None
            finished = folder.read()  # another process may have finished it in the meantime
            return finished or self._make(run, folder)

    def _make(self, run: Run, folder: RunFolder) -> FinishedRun:
        recipe = _shared_by(run, self.processes.num_processes)
        self._forget_other_programs(run.recipe)
        _reject_changed_data(run)
        resume = folder.is_begun
        in_main(self.processes, lambda: _prepare_work(folder, recipe, resume=resume))
        trained = train(
            recipe,
            folder.work,
            resume=resume,
            recent=self._recent,
            how_to_resume=RESUME_HINT,
            # It would be removed at once: of short runs, writing it takes a good part of the time.
            saves_last=False,
        )
        _reject_changed_data(run)
        keep = self._keep_readers
        in_main(self.processes, lambda: finish(folder, run, trained, _machine(), keep_reader=keep))
        finished = folder.read()
        assert finished is not None
        return finished

    def _forget_other_programs(self, recipe: Recipe) -> None:
        if self._programs != (programs := _programs(recipe)):
            if torch.cuda.is_available():  # where programs are compiled
                torch._dynamo.reset()  # programs of other networks count towards its limit
            self._programs = programs


def run_grid(grid: Grid, out: Path, *, keep_readers: bool = False) -> dict[str, FinishedRun]:
    """Train the runs that are not finished, and return the finished runs by key.

    A run that fails does not stop the others.
    """
    seeds = len({run.seed for run in grid.runs})
    runner = Runner(out, keep_readers=keep_readers, data_sets=max(4, min(seeds, 10)))
    in_main(runner.processes, lambda: take_folder(out, grid))
    done, damaged = find_finished(grid, out)
    if damaged:
        raise ReadletError(damaged[0])
    progress = GridProgress(grid, len(done))
    failures: list[str] = []
    left = [run for run in grid.runs if run.key not in done]
    for _ in range(2):  # runs of other processes may be finished or abandoned by the second pass
        elsewhere = []
        for run in left:
            progress.begun(run)
            try:
                finished = runner.make(run)
            except ReadletError as error:
                failures.append(f"{run.label}: {error}")
                progress.failed(run, error)
                continue
            if finished is None:
                elsewhere.append(run)
                progress.skipped(run)
            else:
                done[run.key] = finished
                progress.finished(run, finished)
        left = elsewhere
    progress.say(progress.count)
    raise_failures(grid, failures)
    return done


def raise_failures(grid: Grid, failures: Sequence[str]) -> None:
    """An error if there are any."""
    if failures:
        raise ReadletError(
            f"{len(failures)} of {len(grid.runs)} runs failed; the first: {failures[0]}"
        )


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
    save_tensors(folder.path / SCORES, items, how_to_resume=RESUME_HINT)
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


def take_folder(out: Path, grid: Grid) -> None:
    """Check that the folder may be written, and make it."""
    check_runs(out, [path for run in grid.runs for path in inputs_of(run.recipe)])
    make_folder(out)


def _programs(recipe: Recipe) -> Any:
    """The fields that compiled programs depend on; runs with equal values share them."""
    return [(field.path, field.value) for field in fields_with(recipe, AffectsCompilation)]


def _shared_by(run: Run, processes: int) -> Recipe:
    """Processes share the batch, so that the run does not depend on their number."""
    size, rest = divmod(run.recipe.training.batch_size, processes)
    if rest:
        fault = f"{processes} processes cannot share a batch of {run.recipe.training.batch_size}"
        raise ReadletError(f"{fault}; change training.batch_size")
    training = run.recipe.training.model_copy(update={"batch_size": size})
    return run.recipe.model_copy(update={"training": training})


def _prepare_work(folder: RunFolder, recipe: Recipe, *, resume: bool) -> None:
    folder.work.mkdir(parents=True, exist_ok=True)
    if resume:  # the key is the same, but the files may have moved
        with atomic_text(folder.work / "recipe.json") as stream:
            stream.write(recipe.model_dump_json(indent=1))


def _reject_changed_data(run: Run) -> None:
    if run_key(run.recipe) != run.key:
        raise ReadletError("its data files changed while the command was running; run it again")


def _machine() -> str:
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if torch.cuda.is_available():
        return f"{count} × {torch.cuda.get_device_name()}"
    return f"{platform.machine()} processor, {torch.get_num_threads()} threads"
