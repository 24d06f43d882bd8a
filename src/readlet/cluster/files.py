"""The files of a folder, a pattern or an object store, and where their outputs go.

Local files are used where they are. Anything that fsspec knows (`s3://`, `gs://`, ...) is copied to
a temporary folder to be read, and an output is copied back when it is complete.
"""

import glob
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from readlet.errors import ReadletError, bad_input, extra_needed, reason_of

DATA_SUFFIXES = (".json", ".jsonl", ".csv", ".tsv", ".parquet")
_WILDCARDS = frozenset("*?[")
# Ends the name of an output that is still being copied; what a killed call leaves is replaced.
_COPY = ".readlet-copy"


class Job(NamedTuple):
    """One file and where its output goes: local paths or URLs."""

    source: str
    target: str


def is_remote(name: str) -> bool:
    return "://" in name


def names_many(source: str) -> bool:
    """Whether a source is a folder, a pattern or a URL, not one local file."""
    if is_remote(source):
        return True
    return Path(source).is_dir() or (bool(_WILDCARDS & set(source)) and not Path(source).exists())


def jobs_of(sources: Sequence[str], folder: str, suffix: str) -> list[Job]:
    """A job for each data file, sorted by name; `suffix` is that of the outputs, as in `.jsonl`."""
    found: dict[str, str] = {}
    for source in sources:
        files = _remote_files(source) if is_remote(source) else _local_files(source)
        if not files:
            known = ", ".join(DATA_SUFFIXES)
            raise bad_input(source, "", "no data files there", f"give files that end in {known}")
        found |= {_absolute(name): name for name in files}
    folder = folder.rstrip("/")
    if not is_remote(folder) and Path(folder).exists() and not Path(folder).is_dir():
        raise bad_input(folder, "", "is a file", "give a folder, where each file gets an output")
    jobs = [Job(name, f"{folder}/{_stem(name)}{suffix}") for name in sorted(found.values())]
    (target, count), *_ = Counter(job.target for job in jobs).most_common(1)
    if count > 1:
        twins = ", ".join(job.source for job in jobs if job.target == target)
        fault = f"{count} files would be written to {target}"
        raise bad_input(sources[0], "", fault, f"rename {twins}")
    # The outputs would be inputs of the next call.
    if _absolute(folder) in {name.rpartition("/")[0] for name in found}:
        raise bad_input(folder, "", "holds the inputs", "give another folder for --out")
    return jobs


def _local_files(source: str) -> list[str]:
    if Path(source).is_dir():
        found = [str(path) for path in Path(source).iterdir()]
    else:
        found = glob.glob(source, recursive=True)
    return sorted(name for name in found if Path(name).is_file() and _is_data(name))


def _remote_files(source: str) -> list[str]:
    with _in_store(source) as (system, path):
        if _WILDCARDS & set(path):
            found = system.glob(path)
        elif system.isfile(path):
            found = [path]
        else:
            entries = system.ls(path, detail=True)
            found = [entry["name"] for entry in entries if entry["type"] == "file"]
    return sorted(system.unstrip_protocol(name) for name in found if _is_data(name))


def _is_data(name: str) -> bool:
    hidden = PurePosixPath(name).name.startswith(".")
    return not hidden and name.removesuffix(".gz").endswith(DATA_SUFFIXES)


def _stem(name: str) -> str:
    base = PurePosixPath(name).name.removesuffix(".gz")
    return base[: base.rfind(".")]


def _absolute(name: str) -> str:
    return name if is_remote(name) else os.path.realpath(name)


def file_system(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path there."""
    with extra_needed("cluster", url):
        import fsspec
    try:
        system, path = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError) as error:  # a library is missing, or the protocol is unknown
        raise bad_input(url, "", str(error), "install what it names, or give another URL") from None
    return system, path


@contextmanager
def _in_store(url: str) -> Iterator[tuple[Any, str]]:
    """The file system of a URL, and the path there; its errors are one line with the URL."""
    system, path = file_system(url)
    try:
        yield system, path
    except FileNotFoundError:
        raise bad_input(url, "", "no such file, folder or bucket", "check the URL") from None
    except ReadletError:
        raise
    except Exception as error:  # each store has classes of its own
        remedy = "check the URL, and that you may use it"
        raise bad_input(url, "", reason_of(error), remedy) from None


def missing(jobs: Sequence[Job]) -> list[Job]:
    """The jobs whose output is not there yet. Folders are listed, once each."""
    folders = {job.target.rpartition("/")[0] for job in jobs}
    there = {name for folder in folders for name in _entries(folder)}
    return [job for job in jobs if job.target not in there]


def _entries(folder: str) -> Iterator[str]:
    if not is_remote(folder):
        if Path(folder).is_dir():
            yield from (f"{folder}/{name}" for name in os.listdir(folder))
        return
    with _in_store(folder) as (system, path):
        found = system.ls(path, detail=False, refresh=True) if system.exists(path) else ()
    yield from (f"{folder}/{PurePosixPath(name).name}" for name in found)


@contextmanager
def local_copy(source: str) -> Iterator[Path]:
    """A path at which a local or remote file can be read."""
    if not is_remote(source):
        yield Path(source)
        return
    with tempfile.TemporaryDirectory(prefix="readlet-") as folder:
        with _in_store(source) as (system, path):
            copy = Path(folder, PurePosixPath(path).name)
            system.get_file(path, str(copy))
        yield copy


@contextmanager
def published(target: str) -> Iterator[Path]:
    """A path to write an output to: a remote one appears whole, after the `with`.

    A local output is written in place: its writer publishes it whole, and may keep finished work
    beside it.
    """
    if not is_remote(target):
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        yield Path(target)
        return
    with tempfile.TemporaryDirectory(prefix="readlet-") as folder:
        draft = Path(folder, PurePosixPath(target).name)
        yield draft
        with _in_store(target) as (system, path):
            # Where paths begin with a bucket there are no folders to make, only a missing bucket.
            if path.startswith("/"):
                system.makedirs(path.rpartition("/")[0], exist_ok=True)
            system.put_file(str(draft), path + _COPY)
            system.mv(path + _COPY, path)


def read_text(name: str) -> str | None:
    """The text of a small local or remote file; None if there is none."""
    if not is_remote(name):
        return Path(name).read_text("utf-8") if Path(name).is_file() else None
    with _in_store(name) as (system, path):
        return str(system.cat_file(path).decode("utf-8")) if system.exists(path) else None
