"""Folders of runs. A finished one is small, complete, and can be copied to other machines.

KEY/result.json          recipe, scores, versions; written last
KEY/scores.safetensors   the columns of its task, a number for every item (question, sentence)
KEY/answers.json.gz      predictions by id
KEY/log.jsonl            the losses and evaluations of its training
KEY/work/                checkpoints, until the run is finished
"""

import hashlib
import json
import platform
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict
from safetensors import SafetensorError

from readlet.errors import BusyError, ReadletError, bad_input, input_error
from readlet.evaluation.task import Items, Task
from readlet.experiments.grid import Grid
from readlet.experiments.spec import task_named
from readlet.storage.files import locked, text_lines
from readlet.storage.overwrite import check_folder, others

FORMAT = 2
RESULT, SCORES, ANSWERS, LOG = (
    "result.json",
    "scores.safetensors",
    "answers.json.gz",
    "log.jsonl",
)
WORK, READER, LOCKS = "work", "reader", ".locks"
_KEY = re.compile(r"[0-9a-f]{16}")


class StoredRuns(NamedTuple):
    """The finished runs in a folder."""

    runs: dict[str, "FinishedRun"]  # by key
    damaged: list[str]  # errors of the runs that cannot be used


def check_runs(folder: Path, inputs: Iterable[Path] = ()) -> None:
    """Check that runs may be written to a folder: it is new, empty, or has runs already."""
    check_folder(folder, lambda found: iter(()) if is_ours(found) else others(found, ()), inputs)


def is_ours(folder: Path) -> bool:
    """Whether it is a folder of runs: it has their locks, or a copied run."""
    found = [entry.name for entry in folder.iterdir() if entry.is_dir()]
    return any(name == LOCKS or _KEY.fullmatch(name) for name in found)


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Versions of the program and its dependencies; `code` is a digest of its source files."""
    package = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode() + path.read_bytes())
    return {
        "readlet": version("readlet"),
        "code": digest.hexdigest()[:12],
        "torch": version("torch"),
        "python": platform.python_version(),
    }


def read_log(path: Path) -> list[dict[str, Any]]:
    """The records of `log.jsonl`. The last line may be truncated by a crash and is then skipped."""
    lines = list(text_lines(path))
    records = []
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
        except ValueError:
            if number == len(lines) and not line.endswith("\n"):
                break
            record = None
        if not isinstance(record, dict) or "epoch" not in record:
            remedy = "give the log.jsonl of a training run"
            raise bad_input(path, f"line {number}", "not a line of a training log", remedy)
        records.append(record)
    return records


class DamagedRunError(ReadletError):
    """A folder of a finished run that is damaged."""


class Result(BaseModel):
    """The summary of a finished run, readable without its other files."""

    model_config = ConfigDict(frozen=True)

    format: int = FORMAT
    key: str
    task: str
    recipe: dict[str, Any]
    scores: dict[str, float]  # official, in percent
    seconds: float
    steps: int
    parameters: int
    machine: str
    versions: dict[str, str]
    finished: str  # when
    items: str  # digest of the ids of the questions or sentences, in order

    @property
    def seed(self) -> int:
        return int(self.recipe["training"]["seed"])


@dataclass(frozen=True)
class RunFolder:
    """The folder of one run."""

    path: Path

    @property
    def work(self) -> Path:
        return self.path / WORK

    @property
    def is_begun(self) -> bool:
        return (self.work / "recipe.json").is_file()

    def read(self) -> "FinishedRun | None":
        """The finished run; None if it is not finished; raises `DamagedRunError` if damaged."""
        if not (self.path / RESULT).exists():
            return None
        try:
            values = json.loads((self.path / RESULT).read_bytes())
            if isinstance(values, dict) and values.get("format") != FORMAT:
                raise self.damage("made by another version of Readlet")
            result = Result.model_validate(values)
        except (ValueError, RecursionError) as error:
            raise self.damage(str(error).splitlines()[0]) from None
        if task_named(result.task) is None or result.key != self.path.name:
            raise self.damage(f"contains run {result.key} of task {result.task!r:.40}")
        missing = [name for name in (SCORES, ANSWERS, LOG) if not (self.path / name).is_file()]
        if missing:
            raise self.damage(f"{', '.join(missing)} missing")
        return FinishedRun(self, result)

    def damage(self, what: str) -> DamagedRunError:
        remedy = "remove this folder and run the command that made it again"
        return DamagedRunError(f"{self.path}: is damaged ({what}); {remedy}")

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """A lock on the run; `BusyError` if another process has it."""
        with locked(self.path.parent / LOCKS / self.path.name) as free:
            if not free:
                fault = "another process is training this run"
                raise input_error(BusyError, self.path, "", fault, "wait for it")
            yield


@dataclass(frozen=True)
class FinishedRun:
    """A finished run; its larger parts are loaded on first use."""

    folder: RunFolder
    result: Result

    @property
    def task(self) -> Task:
        task = task_named(self.result.task)
        assert task is not None  # checked when the result was read
        return task

    @cached_property
    def items(self) -> Items:
        """The columns of the task, in the order of the data; (items,) each."""
        from safetensors.numpy import load_file

        try:
            loaded: Items = load_file(self.folder.path / SCORES)
        except SafetensorError as error:
            raise self.folder.damage(f"{SCORES}: {error}") from None
        return loaded

    @cached_property
    def log(self) -> list[dict[str, Any]]:
        return read_log(self.folder.path / LOG)


def find_finished(grid: Grid, out: Path) -> StoredRuns:
    """The finished runs of the grid, without changing any files."""
    found = StoredRuns({}, [])
    for run in grid.runs:
        try:
            finished = RunFolder(out / run.key).read()
        except DamagedRunError as error:
            found.damaged.append(f"{run.label}: {error}")
            continue
        if finished is not None:
            found.runs[run.key] = finished
    return found
