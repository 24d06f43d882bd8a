"""Folders of runs. A finished one is small, complete, and can be copied to other machines.

KEY/result.json          recipe, scores, versions, digests of the other files; written last
KEY/scores.safetensors   the columns of its task, a number for every item (question, sentence)
KEY/answers.json.gz      predictions by id
KEY/log.jsonl            the learning curve
KEY/work/                checkpoints, until the run is finished
"""

import hashlib
import json
import platform
import re
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from readlet.errors import ReadletError
from readlet.evaluation.task import Items, Task
from readlet.experiments.learning_curve import LearningCurve, learning_curve, read_log
from readlet.experiments.spec import task_named
from readlet.storage.files import locked, text_chunks
from readlet.storage.overwrite import check_folder, others

FORMAT = 2
RESULT, SCORES, ANSWERS, LOG = (
    "result.json",
    "scores.safetensors",
    "answers.json.gz",
    "log.jsonl",
)
FILES = (SCORES, ANSWERS, LOG)
WORK, READER, LOCKS = "work", "reader", ".locks"
RESUME_HINT = "run the same command to resume"
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


class DamagedRunError(ReadletError):
    """A folder of a finished run that is damaged."""


class Result(BaseModel):
    """The summary of a finished run, readable without its other files."""

    model_config = ConfigDict(extra="forbid", frozen=True)

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
    sources: dict[str, str]  # files used for training and evaluation: name, digest
    files: dict[str, str]  # digests
    digest: str = ""  # of all the above

    @property
    def seed(self) -> int:
        return int(self.recipe["training"]["seed"])

    def own_digest(self) -> str:
        values = self.model_dump(exclude={"digest"})
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


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

    @property
    def is_finished(self) -> bool:
        return (self.path / RESULT).exists()

    def read(self) -> "FinishedRun | None":
        """The finished run; None if it is not finished; raises `DamagedRunError` if damaged."""
        result = self._result()
        if result is None:
            return None
        try:
            found = self.digests()
        except FileNotFoundError as error:
            raise self._damage(str(error)) from None
        changed = [name for name in FILES if found[name] != result.files.get(name)]
        if changed:
            raise self._damage(f"{', '.join(changed)} changed")
        return FinishedRun(self.path, result)

    def _result(self) -> Result | None:
        # Checked before the result: a run that ends now writes the result before removing work.
        has_work = self.work.exists()
        if not self.is_finished:
            if not has_work and any((self.path / name).exists() for name in FILES):
                raise self._damage(f"{RESULT} is missing")
            return None
        try:
            values = json.loads((self.path / RESULT).read_bytes())
            is_other = isinstance(values, dict) and values.get("format") != FORMAT
            result = None if is_other else Result.model_validate(values)
        except (ValueError, RecursionError) as error:
            raise self._damage(str(error).splitlines()[0]) from None
        if result is None:
            raise self._damage("made by another version of Readlet")
        if task_named(result.task) is None or result.digest != result.own_digest():
            raise self._damage(f"{RESULT} changed")
        if result.key != self.path.name:
            raise self._damage(f"contains run {result.key}")
        return result

    def digests(self) -> dict[str, str]:
        """Digests of the files other than the result."""
        return {name: _digest(self.path / name) for name in FILES}

    def _damage(self, what: str) -> DamagedRunError:
        remedy = "remove this folder and run the command that made it again"
        return DamagedRunError(f"{self.path}: is damaged ({what}); {remedy}")

    def claimed(self) -> AbstractContextManager[bool]:
        """A lock on the run: True if this process has it, False if another one does."""
        return locked(self.path.parent / LOCKS / self.path.name)


@dataclass(frozen=True)
class FinishedRun:
    """A finished run; its larger parts are loaded on first use."""

    path: Path
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

        loaded: Items = load_file(self.path / SCORES)
        return loaded

    @cached_property
    def answers(self) -> dict[str, Any]:
        """Predictions by id: texts or classes."""
        # The digest was checked, so that the values need no validation.
        answers: dict[str, Any] = json.loads("".join(text_chunks(self.path / ANSWERS)))
        return answers

    @cached_property
    def curve(self) -> LearningCurve:
        return learning_curve(read_log(self.path / LOG))


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
