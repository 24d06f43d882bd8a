"""Make the runs of a grid, one after the other, in one process.

So that runs share what they can: data, vocabulary and features in memory, compiled programs on a
GPU. A finished run is never made again, and an interrupted one goes on at its last checkpoint.
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from readlet.errors import ReadletError
from readlet.experiments.grid import Grid, Run
from readlet.experiments.store import DamagedRunError, FinishedRun, RunFolder
from readlet.recipe import Recipe


class Watcher(Protocol):
    """Who is told how the grid gets on."""

    def found(self, run: Run, finished: FinishedRun) -> None: ...

    def set_aside(self, run: Run, error: DamagedRunError, place: Path) -> None: ...

    def begun(self, run: Run) -> None: ...

    def evaluated(self, run: Run, epoch: float, scores: dict[str, float]) -> None: ...

    def finished(self, run: Run, finished: FinishedRun) -> None: ...

    def failed(self, run: Run, error: ReadletError) -> None: ...


class Runner:
    """Makes one run after the other and keeps what the next one can use."""

    def __init__(self, out: Path, *, keep_readers: bool = False) -> None:
        from readlet.corpus import Corpora

        self._out = out
        self._keep_readers = keep_readers
        self._corpora = Corpora()
        self._programs: Any = None

    def make(self, run: Run, watch: Callable[[float, dict[str, float]], None]) -> FinishedRun:
        """Train, or go on training, and keep what a report needs."""
        import torch

        from readlet.train_reader import train
        from readlet.training.loop import make_accelerator

        processes = make_accelerator()
        folder = RunFolder(self._out / run.key)
        if self._programs != (programs := _programs(run.recipe)):
            if torch.cuda.is_available():  # where programs are compiled
                torch._dynamo.reset()  # those of another network would count against its limit
            self._programs = programs
        recipe = _shared_by(run, processes.num_processes)
        resume = folder.is_begun
        if resume and processes.is_main_process:
            _renew_recipe(folder, recipe)
        processes.wait_for_everyone()
        trained = train(recipe, folder.work, resume=resume, corpora=self._corpora, watch=watch)
        if processes.is_main_process:
            folder.finish(run, trained, _machine(), keep_reader=self._keep_readers)
        processes.wait_for_everyone()
        finished = folder.read()
        assert finished is not None
        return finished


def run_grid(
    grid: Grid, out: Path, watcher: Watcher, *, keep_readers: bool = False
) -> dict[str, FinishedRun]:
    """Make what is not there yet; finished runs by key. A run that fails does not stop the rest."""
    from readlet.training.loop import make_accelerator

    processes = make_accelerator()
    done = find_finished(grid, out, watcher, may_move=processes.is_main_process)
    processes.wait_for_everyone()
    runner = Runner(out, keep_readers=keep_readers)
    failures: list[str] = []
    for run in grid.runs:
        if run.key in done:
            continue
        watcher.begun(run)
        try:
            done[run.key] = runner.make(run, partial(watcher.evaluated, run))
        except ReadletError as error:
            failures.append(f"{run.label}: {error}")
            watcher.failed(run, error)
            continue
        watcher.finished(run, done[run.key])
    if failures:
        raise ReadletError(
            f"{len(failures)} of {len(grid.runs)} runs failed; the first: {failures[0]}"
        )
    return done


def find_finished(
    grid: Grid, out: Path, watcher: Watcher | None = None, *, may_move: bool = False
) -> dict[str, FinishedRun]:
    """Finished runs of the grid by key; damaged ones are set aside, if that is allowed."""
    found = {}
    for run in grid.runs:
        folder = RunFolder(out / run.key)
        try:
            finished = folder.read()
        except DamagedRunError as error:
            if watcher is None:
                raise
            place = folder.set_aside() if may_move else folder.path
            watcher.set_aside(run, error, place)
            continue
        if finished is not None:
            found[run.key] = finished
            if watcher is not None:
                watcher.found(run, finished)
    return found


def seconds_left(grid: Grid, out: Path, done: dict[str, FinishedRun]) -> float | None:
    """An estimate from finished runs, those of the same row if there are any; None without any."""
    if not done:
        return None
    pace = {
        run.key: done[run.key].result.seconds / _epochs(run) for run in grid.runs if run.key in done
    }
    total = 0.0
    for run in grid.runs:
        if run.key in done:
            continue
        alike = [pace[other.key] for other in grid.of_row(run.row) if other.key in pace]
        paces = alike or list(pace.values())
        to_do = max(_epochs(run) - RunFolder(out / run.key).progress(), 0.0)
        total += to_do * sum(paces) / len(paces)
    return total


def _epochs(run: Run) -> int:
    return run.recipe.training.epochs


def _programs(recipe: Recipe) -> Any:
    """What compiled programs depend on; runs that differ in nothing of it share them."""
    return recipe.model, recipe.attention, recipe.training.batch_size, recipe.training.precision


def _shared_by(run: Run, processes: int) -> Recipe:
    """Several processes share the batch: however many there are, it is the same run."""
    size, rest = divmod(run.recipe.training.batch_size, processes)
    if rest:
        fault = f"{processes} processes cannot share a batch of {run.recipe.training.batch_size}"
        raise ReadletError(f"{run.label}: {fault}; change training.batch_size")
    training = run.recipe.training.model_copy(update={"batch_size": size})
    return run.recipe.model_copy(update={"training": training})


def _renew_recipe(folder: RunFolder, recipe: Recipe) -> None:
    """The same run by its key; only its files may lie elsewhere now."""
    path = folder.work / "recipe.json"
    if json.loads(path.read_text("utf-8")) != json.loads(recipe.model_dump_json()):
        path.write_text(recipe.model_dump_json(indent=1), "utf-8")


def _machine() -> str:
    import platform

    import torch

    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return f"{platform.machine()} processor, {torch.get_num_threads()} threads"
