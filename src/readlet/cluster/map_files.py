"""Work over many files: one after the other, or by the actors of a Ray cluster.

A worker is a function from an input and an output file to counts. It is built once for each actor,
which loads its model then. Finished outputs are skipped, so a call that was killed is repeated to
continue. A file that fails does not stop the others.
"""

import json
import logging
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from readlet.cluster.files import Job, local_copy, missing, published, read_text
from readlet.console import track
from readlet.errors import ReadletError, bad_input, install_extra

Worker = Callable[[Path, Path], Mapping[str, int]]
"""Reads the first path, writes the second one whole, and returns what it counted."""
MakeWorker = Callable[[], Worker]

LOCAL = "local"
_SETTINGS = "readlet-job.json"
_ATTEMPTS = 3  # of one file, if its actor dies
_BEAT = 1.0  # seconds between two looks at Ctrl-C


@dataclass
class Summary:
    """What became of the files."""

    files: int
    skipped: int
    counts: Counter[str] = field(default_factory=Counter)
    failed: dict[str, str] = field(default_factory=dict)
    """The reason for each file that failed."""

    def by_reason(self) -> list[tuple[str, list[str]]]:
        """The failed files of each reason, the most frequent reason first."""
        files: dict[str, list[str]] = {}
        for source, reason in self.failed.items():
            files.setdefault(reason.removeprefix(f"{source}: "), []).append(source)
        return sorted(files.items(), key=lambda item: -len(item[1]))


@dataclass(frozen=True)
class _Outcome:
    job: Job
    counts: Mapping[str, int]
    fault: str = ""


def map_files(
    make_worker: MakeWorker,
    jobs: Sequence[Job],
    *,
    settings: Mapping[str, Any],
    ray: str = "",
    label: str = "files",
) -> Summary:
    """Do every job whose output is missing.

    `ray` is empty for one file after the other in this process, `local` for actors on this
    machine, `auto` for the cluster that this machine belongs to, or the address of a cluster.
    `settings` determine the outputs: a folder with outputs of other settings is refused.
    """
    _check_settings(jobs, settings)
    remaining = missing(jobs)
    summary = Summary(len(jobs), len(jobs) - len(remaining))
    if not remaining:
        return summary
    run = _by_actors(make_worker, remaining, ray) if ray else _in_turn(make_worker, remaining)
    for outcome in track(run, len(jobs), label, done=summary.skipped):
        summary.counts.update(outcome.counts)
        if outcome.fault:
            summary.failed[outcome.job.source] = outcome.fault
    return summary


def _check_settings(jobs: Sequence[Job], settings: Mapping[str, Any]) -> None:
    """Note the settings in the outputs' folder; refuse a folder with outputs of other settings."""
    folder = jobs[0].target.rpartition("/")[0]
    note, text = f"{folder}/{_SETTINGS}", json.dumps(settings, indent=1, sort_keys=True)
    before = read_text(note)
    if before is None:
        with published(note) as path:
            path.write_text(text, "utf-8")
    elif before != text:
        fault = "holds outputs of another model or other options"
        raise bad_input(folder, "", fault, "give another folder for --out")


def _in_turn(make_worker: MakeWorker, jobs: Sequence[Job]) -> Iterator[_Outcome]:
    worker = make_worker()
    for job in jobs:
        yield _do(worker, job)


def _do(worker: Worker, job: Job) -> _Outcome:
    """One job; what is wrong with its file is an outcome, not an error."""
    copy = ""
    try:
        with local_copy(job.source) as source, published(job.target) as target:
            copy = str(source)
            return _Outcome(job, dict(worker(source, target)))
    except (ReadletError, OSError, MemoryError) as error:
        fault = " ".join(str(error).split()) or type(error).__name__
        return _Outcome(job, {}, fault.replace(copy, job.source) if copy else fault)


class _Actor:
    """A worker in a process of its own: it loads its model once, with threads of its own."""

    def __init__(self, make_worker: MakeWorker, threads: int) -> None:
        for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
            os.environ[name] = str(threads)
        self._worker = make_worker()

    def ready(self) -> None:
        """Ends when the worker is made."""

    def do(self, job: Job) -> _Outcome:
        return _do(self._worker, job)


def connect(address: str) -> Any:
    """The module `ray`, connected to a cluster or to actors on this machine alone.

    Telemetry and dashboard are off. On one machine Ray wants a token from whoever talks to it; a
    cluster that is running already has settings of its own.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise ReadletError(f"--ray: needs Ray; {install_extra('cluster')}") from None
    if ray.is_initialized():
        return ray
    only_local: dict[str, Any] = {"include_dashboard": False} if address == LOCAL else {}
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **only_local)
    except (ConnectionError, ValueError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0]
        remedy = "start one with `ray start`, or give --ray local"
        raise ReadletError(f"--ray {address}: no cluster there ({reason}); {remedy}") from None
    return ray


def _is_connected() -> bool:
    return "ray" in sys.modules and bool(sys.modules["ray"].is_initialized())


def _by_actors(make_worker: MakeWorker, jobs: Sequence[Job], address: str) -> Iterator[_Outcome]:
    """The jobs in the order in which they end. An actor that dies is replaced, its file redone."""
    was_connected = _is_connected()
    ray = connect(address)
    there = ray.cluster_resources()
    gpus, cores = int(there.get("GPU", 0)), max(1, int(there.get("CPU", 1)))
    count = min(len(jobs), gpus or cores)
    threads = max(1, cores // count)
    remote = ray.remote(num_cpus=threads, num_gpus=1 if gpus else 0)(_Actor)
    reference = ray.put(make_worker)
    waiting, attempts = list(reversed(jobs)), Counter[Job]()
    # What each actor does; None while it starts. A file waits for an actor that has started: a new
    # one may have to wait for the core of another.
    at_work: dict[Any, tuple[Any, Job | None]] = {}

    def start() -> None:
        actor = remote.remote(reference, threads)
        at_work[actor.ready.remote()] = actor, None

    def give(actor: Any) -> None:
        if waiting:
            job = waiting.pop()
            attempts[job] += 1
            at_work[actor.do.remote(job)] = actor, job
        else:
            ray.kill(actor)  # frees its core

    for _ in range(count):
        start()
    try:
        while waiting or any(job for _, job in at_work.values()):
            ended, _ = ray.wait(list(at_work), timeout=_BEAT)
            for future in ended:
                actor, job = at_work.pop(future)
                try:
                    outcome = ray.get(future)
                except ray.exceptions.RayActorError as error:
                    if job is None and (cause := _cause(error)):
                        raise cause from None
                    start()
                    if job is not None and attempts[job] < _ATTEMPTS:
                        waiting.append(job)
                    elif job is not None:
                        yield _Outcome(job, {}, f"its process died {_ATTEMPTS} times")
                else:
                    if outcome is not None:
                        yield outcome
                    give(actor)
    finally:
        for actor, _ in at_work.values():
            ray.kill(actor)
        if not was_connected:
            ray.shutdown()


def _cause(error: Exception) -> ReadletError | None:
    """Why an actor could not be made: a model that is not there, for example."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ReadletError):
            return cause
        cause = cause.__cause__ or getattr(cause, "cause", None)
    return None
