"""Trains the runs of a grid on a Ray cluster: each actor has a runner and returns complete runs.

An actor trains in the cache folder of its machine: if it dies, only the current run is lost. If
the machine is still there, so are the checkpoints, and the next call resumes from them.
"""

import os
import shutil
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from readlet.cluster.actors import ATTEMPTS, PATIENCE, by_actors
from readlet.errors import BusyError, ReadletError
from readlet.experiments.grid import Grid, Run
from readlet.experiments.runner import Made, Runner, complete
from readlet.experiments.store import RESULT, DamagedRunError, FinishedRun, RunFolder
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

    def by_ray(left: Sequence[Run], begun: Callable[[Run], None]) -> Made:
        work = partial(_runner, os.getcwd(), keep_readers)
        made = by_actors(work, left, ray, cores=_CORES, begun=begun) if left else ()
        for run, found in made:
            if isinstance(found, dict):
                yield run, _stored(RunFolder(out / run.key), found)
            elif isinstance(found, ReadletError):
                yield run, found
            else:
                yield run, ReadletError(f"its process died {ATTEMPTS} times")

    return complete(grid, out, by_ray)


def _runner(current: str, keep_readers: bool) -> Callable[[Run], _Files | ReadletError]:
    """In an actor: trains one run after the other."""
    if Path(current).is_dir():
        os.chdir(current)  # paths of data may be relative to it
    scratch = cache_folder() / "runs"
    runner = Runner(scratch, keep_readers=keep_readers)

    def work(run: Run) -> _Files | ReadletError:
        folder = RunFolder(scratch / run.key)
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                _make(runner, folder, run)
                break
            except BusyError as error:  # an actor of a killed call may still train it
                if time.monotonic() > deadline:
                    return error
                time.sleep(1.0)
            except ReadletError as error:
                return error
        paths = (path for path in folder.path.rglob("*") if path.is_file())
        files = {path.relative_to(folder.path).as_posix(): path.read_bytes() for path in paths}
        shutil.rmtree(folder.path, ignore_errors=True)
        return files

    return work


def _make(runner: Runner, folder: RunFolder, run: Run) -> None:
    try:
        runner.make(run)
    except DamagedRunError:  # left by an earlier call: trained again
        shutil.rmtree(folder.path, ignore_errors=True)
        runner.make(run)


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
