"""Work over many files: one after the other, or by the actors of a Ray cluster.

A worker is a function from an input and an output file to counts. It is built once for each actor,
which loads its model then. Finished outputs are skipped, so repeat a killed call to
continue. A file that fails does not stop the others.
"""

import json
import os
import re
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from readlet.cluster.actors import ATTEMPTS, PATIENCE, Died, by_actors
from readlet.cluster.files import Job, is_remote, local_copy, missing, published, read_text
from readlet.console import track
from readlet.errors import BusyError, bad_input, reason_of

Worker = Callable[[Path, Path], Mapping[str, int]]
"""Reads the first path, writes the second one atomically, and returns its counts."""
MakeWorker = Callable[[], Worker]

_PAUSE = 1.0  # seconds between two tries of a file that another process writes
_SETTINGS = ".readlet-job.json"
_COUNTED = re.compile(r"([\d,]+) × (.*)", re.DOTALL)


@dataclass
class Summary:
    """The outcome for the files."""

    files: int
    skipped: int
    counts: Counter[str] = field(default_factory=Counter)
    warned: Counter[str] = field(default_factory=Counter)
    """Warnings with their counts: the number of files, or the number in the warning."""
    failed: dict[str, str] = field(default_factory=dict)
    """The reason for each file that failed."""

    def by_reason(self) -> list[tuple[str, list[str]]]:
        """The failed files of each reason, the most frequent reason first."""
        files: dict[str, list[str]] = {}
        for source, reason in self.failed.items():
            text = reason.removeprefix(f"{source}: ").replace(source, "FILE")
            files.setdefault(text, []).append(source)
        return sorted(files.items(), key=lambda item: -len(item[1]))


@dataclass(frozen=True)
class _Outcome:
    counts: Mapping[str, int] = field(default_factory=dict)
    warned: Mapping[str, int] = field(default_factory=dict)
    fault: str = ""
    is_found: bool = False
    """The output was there already: an actor of a killed call has finished it."""


def map_files(
    make_worker: MakeWorker,
    jobs: Sequence[Job],
    *,
    settings: Mapping[str, Any],
    ray: str = "",
    label: str = "files",
    with_gpu: bool = True,
) -> Summary:
    """Do every job whose output is missing.

    `ray` is empty for one file after the other in this process, `local` for actors on this
    machine, `auto` for the cluster that this machine belongs to, or the address of a cluster.
    `settings` determine the outputs: a folder with outputs of other settings is rejected.
    """
    remaining = missing(jobs)
    _note_settings(jobs, settings, is_new=len(remaining) == len(jobs))
    summary = Summary(len(jobs), len(jobs) - len(remaining))
    if not remaining:
        return summary
    results: Iterator[tuple[Job, _Outcome | Died]]
    if ray:
        make = partial(_worker_of_jobs, make_worker)
        # Of a process with another current folder.
        named = {Job(*map(_absolute, job)): job for job in remaining}
        run = by_actors(make, list(named), ray, with_gpu=with_gpu)
        results = ((named[job], found) for job, found in run)
    else:
        work = _worker_of_jobs(make_worker)
        results = ((job, work(job)) for job in remaining)
    for job, found in track(results, len(jobs), label, done=summary.skipped):
        died = _Outcome(fault=f"its process died {ATTEMPTS} times")
        outcome = died if isinstance(found, Died) else found
        summary.counts.update(outcome.counts)
        summary.warned.update(outcome.warned)
        summary.skipped += outcome.is_found
        if outcome.fault:
            summary.failed[job.source] = outcome.fault.replace(_absolute(job.source), job.source)
    return summary


def _absolute(name: str) -> str:
    return name if is_remote(name) else os.path.abspath(name)


def _note_settings(jobs: Sequence[Job], settings: Mapping[str, Any], *, is_new: bool) -> None:
    """Record the settings in the outputs' folder; reject a folder with outputs of other settings.

    `is_new`: there are no outputs yet, perhaps because all files failed with other settings.
    """
    folder = jobs[0].target.rpartition("/")[0]
    note, text = f"{folder}/{_SETTINGS}", json.dumps(settings, indent=1, sort_keys=True)
    before = read_text(note)
    if before is None or (is_new and before != text):
        with published(note) as path:
            path.write_text(text, "utf-8")
    elif before != text:
        fault = "holds outputs of another model or other options"
        raise bad_input(folder, "", fault, "give another folder for --out")


def _worker_of_jobs(make_worker: MakeWorker) -> Callable[[Job], _Outcome]:
    return partial(_do_when_free, make_worker())


def _do_when_free(worker: Worker, job: Job) -> _Outcome:
    """One job; actors of a killed call may still work on it, for some seconds."""
    deadline = time.monotonic() + PATIENCE
    while is_remote(job.target) or not Path(job.target).exists():
        try:
            return _do(worker, job)
        except BusyError as error:
            if time.monotonic() > deadline:
                return _Outcome(fault=str(error))
            time.sleep(_PAUSE)
    return _Outcome(is_found=True)


def _do(worker: Worker, job: Job) -> _Outcome:
    """One job; a fault of its file is returned, not raised."""
    counts: Mapping[str, int] = {}
    fault, copy = "", ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with local_copy(job.source) as source, published(job.target) as target:
                copy = str(source)
                counts = dict(worker(source, target))
        except BusyError:
            raise
        except Exception as error:  # also an error of a library: the other files are done
            # Paths as the user knows them; a remote file is a copy here.
            text = reason_of(error)
            fault = text.replace(copy, job.source) if copy else text
    warned = Counter[str]()
    for warning in caught:
        if issubclass(warning.category, UserWarning):
            text = str(warning.message).removeprefix(f"{copy}: ")
            counted = _COUNTED.fullmatch(text)
            number, what = counted.groups() if counted else ("1", text)
            warned[what] += int(number.replace(",", ""))
    return _Outcome(counts, warned, fault)
