"""Trains the runs of a grid on a Ray cluster: each actor has a runner and returns complete runs.

An actor trains in the cache folder of its machine: if it dies, only the current run is lost. If
the machine is still there, so are the checkpoints, and the next call resumes from them.
"""

import os
import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from readlet.cluster.actors import ATTEMPTS, PATIENCE, by_actors
from readlet.errors import ReadletError
from readlet.experiments.grid import Grid, Run
from readlet.experiments.runner import (
    GridProgress,
    Runner,
    raise_failures,
    take_folder,
)
from readlet.experiments.store import (
    RESULT,
    DamagedRunError,
    FinishedRun,
    RunFolder,
    find_finished,
)
from readlet.storage.files import atomic_bytes, cache_folder

_CORES = 2  # of an actor without a GPU

_Files = dict[str, bytes]
"""The files of a finished run by name."""


def run_grid_by_actors(
    grid: Grid, out: Path, *, ray: str, keep_readers: bool = False
) -> dict[str, FinishedRun]:
    """Train the runs that are not finished, and return the finished runs by key.

    A run that fails does not stop the others. Data files have the same paths on all machines.
    """
    take_folder(out, grid)
    done, damaged = find_finished(grid, out)
    if damaged:
        raise ReadletError(damaged[0])
    progress = GridProgress(grid, len(done))
    left = [run for run in grid.runs if run.key not in done]
    failures: list[str] = []
    make = partial(_runner, os.getcwd(), keep_readers)
    for run, made in by_actors(make, left, ray, cores=_CORES, begun=progress.begun) if left else ():
        if isinstance(made, dict):
            done[run.key] = _stored(RunFolder(out / run.key), made)
            progress.finished(run, done[run.key])
            continue
        fault = ReadletError(f"its process died {ATTEMPTS} times")
        error = made if isinstance(made, ReadletError) else fault
        failures.append(f"{run.label}: {error}")
        progress.failed(run, error)
    progress.say(progress.count)
    raise_failures(grid, failures)
    return done


def _runner(current: str, keep_readers: bool) -> Callable[[Run], _Files | ReadletError]:
    """In an actor: trains one run after the other."""
    if Path(current).is_dir():
        os.chdir(current)  # paths of data may be relative to it
    scratch = cache_folder() / "runs"
    runner = Runner(scratch, keep_readers=keep_readers)

    def work(run: Run) -> _Files | ReadletError:
        folder = RunFolder(scratch / run.key)
        deadline = time.monotonic() + PATIENCE
        try:
            while not (finished := _made(runner, folder, run)) and time.monotonic() < deadline:
                time.sleep(1.0)  # an actor of a killed call may still train it
        except ReadletError as error:
            return error
        if finished is None:
            return ReadletError("another process on the same machine is training it; wait for it")
        paths = (path for path in folder.path.rglob("*") if path.is_file())
        files = {path.relative_to(folder.path).as_posix(): path.read_bytes() for path in paths}
        shutil.rmtree(folder.path, ignore_errors=True)
        return files

    return work


def _made(runner: Runner, folder: RunFolder, run: Run) -> FinishedRun | None:
    try:
        return runner.make(run)
    except DamagedRunError:  # left by an earlier call: trained again
        shutil.rmtree(folder.path, ignore_errors=True)
        return runner.make(run)


def _stored(folder: RunFolder, files: _Files) -> FinishedRun:
    """Write the files of a run, the result last; unfinished work in the folder is kept."""
    with folder.claimed():
        folder.work.mkdir(parents=True, exist_ok=True)
        for name in sorted(files, key=RESULT.__eq__):
            path = folder.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_bytes(path) as stream:
                stream.write(files[name])
        shutil.rmtree(folder.work, ignore_errors=True)
    finished = folder.read()
    assert finished is not None
    return finished
