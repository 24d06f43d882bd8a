"""Folders of runs. A finished one is small, whole, and can be copied from machine to machine.

KEY/result.json          recipe, scores, versions, digests of the other files; written last
KEY/scores.safetensors   the columns of its task, a number for every item (question, sentence)
KEY/answers.json.gz      what was predicted, by id
KEY/log.jsonl            the learning curve
KEY/work/                checkpoints, as long as the run is not finished
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from readlet.errors import ReadletError, bad_input
from readlet.experiments.keys import Digests
from readlet.experiments.versions import versions
from readlet.metrics.learning_curve import LearningCurve, learning_curve, read_log
from readlet.metrics.task import Items, Task
from readlet.metrics.tasks import TASKS
from readlet.storage.files import atomic_text, text_chunks
from readlet.storage.locks import locked

FORMAT = 2
RESULT, SCORES, ANSWERS, LOG = (
    "result.json",
    "scores.safetensors",
    "answers.json.gz",
    "log.jsonl",
)
_FILES = (SCORES, ANSWERS, LOG)
_WORK, _VERSIONS = "work", "versions.json"
GO_ON = "give the same command to go on"


class DamagedRunError(ReadletError):
    """A folder that says it is finished but is not whole."""


class Result(BaseModel):
    """What is known of a finished run without opening its other files."""

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
    sources: dict[str, str]  # files that it was made from: name, digest
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
    """The place of one run."""

    path: Path

    @property
    def work(self) -> Path:
        return self.path / _WORK

    @property
    def is_begun(self) -> bool:
        return (self.work / "recipe.json").is_file()

    @property
    def is_finished(self) -> bool:
        return (self.path / RESULT).exists()

    def progress(self) -> float:
        """Epochs done of a run that has begun, as its log tells."""
        try:
            records = read_log(self.work / LOG)
        except ReadletError:  # no log yet
            return 0.0
        return float(records[-1]["epoch"]) if records else 0.0

    def read(self) -> "FinishedRun | None":
        """The finished run; None if it is not finished; `DamagedRunError` if it is not whole."""
        result = self.read_result()
        if result is None:
            return None
        with self._fault_of_disk():
            found = self.digests()
        wrong = [name for name in _FILES if found[name] != result.files.get(name)]
        if wrong:
            raise self._damage(f"{', '.join(wrong)} changed")
        return FinishedRun(self.path, result)

    def read_result(self) -> Result | None:
        """The same of the result alone: the other files, which take longer, are not looked at."""
        with self._fault_of_disk():
            # Asked before the result is: a run that ends meanwhile has written it before this goes.
            is_at_work = self.work.exists()
            text = (self.path / RESULT).read_bytes() if self.is_finished else None
        if text is None:
            self._refuse_rest(is_at_work=is_at_work)
            return None
        try:
            values = json.loads(text)
            is_other = isinstance(values, dict) and values.get("format") != FORMAT
            result = None if is_other else Result.model_validate(values)
        except (ValueError, RecursionError) as error:
            raise self._damage(str(error).splitlines()[0]) from None
        if result is None:
            raise self._damage("made by another version of Readlet")
        if result.task not in TASKS or result.digest != result.own_digest():
            raise self._damage(f"{RESULT} changed")
        if result.key != self.path.name:
            raise self._damage(f"holds run {result.key}")
        return result

    def digests(self) -> dict[str, str]:
        """Of the files beside the result."""
        return {name: _digest(self.path / name) for name in _FILES}

    def _refuse_rest(self, *, is_at_work: bool) -> None:
        """What is neither finished, nor begun, nor empty is the rest of something."""
        if not self.path.is_dir() and os.path.lexists(self.path):
            raise self._damage("is no folder")
        if not is_at_work and any((self.path / name).exists() for name in _FILES):
            raise self._damage(f"{RESULT} is missing")

    def _damage(self, what: str) -> DamagedRunError:
        remedy = "the command that made it makes it anew"
        return DamagedRunError(f"{self.path}: is damaged ({what}); {remedy}")

    @contextmanager
    def _fault_of_disk(self) -> Iterator[None]:
        """What cannot be read may be whole all the same: only what is not there is damage."""
        try:
            yield
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
            raise self._damage(str(error)) from None
        except OSError as error:
            fault = f"cannot be read ({error.strerror})"
            remedy = "check its permissions and the disk, and try again"
            raise bad_input(error.filename or self.path, "", fault, remedy) from None

    def set_aside(self) -> Path:
        """Move a damaged folder out of the way; nothing is deleted."""
        return _moved(self.path)

    def set_work_aside(self) -> Path:
        """The same for what an interrupted run has left."""
        return _moved(self.work)

    def tidy(self) -> None:
        """A kill between the end of a run and that of its tidying leaves checkpoints behind."""
        if self.is_finished:
            shutil.rmtree(self.work, ignore_errors=True)

    def claimed(self) -> AbstractContextManager[bool]:
        """Whether this process may work here; False while another one does."""
        return locked(self.path.parent / ".locks" / self.path.name)

    def note_version(self) -> None:
        """Write down which code works here: another one may go on with an interrupted run."""
        self.work.mkdir(parents=True, exist_ok=True)
        codes = self.codes()
        if versions()["code"] not in codes:
            with atomic_text(self.work / _VERSIONS) as stream:
                json.dump([*codes, versions()["code"]], stream)

    def codes(self) -> list[str]:
        """Which code has worked here so far."""
        try:
            found = json.loads((self.work / _VERSIONS).read_text("utf-8"))
        except (OSError, ValueError):
            return []
        return [str(code) for code in found] if isinstance(found, list) else []


@dataclass(frozen=True)
class FinishedRun:
    """A finished run with its larger parts, read when they are asked for."""

    path: Path
    result: Result

    @property
    def task(self) -> Task:
        return TASKS[self.result.task]

    @cached_property
    def items(self) -> Items:
        """The columns of the task, in the order of the data; (items,) each."""
        from safetensors.numpy import load_file

        loaded: Items = load_file(self.path / SCORES)
        return loaded

    @cached_property
    def answers(self) -> dict[str, Any]:
        """What was predicted, by id: texts or classes."""
        # Whole by its digest: not every value is checked, as in a file from elsewhere.
        answers: dict[str, Any] = json.loads("".join(text_chunks(self.path / ANSWERS)))
        return answers

    @cached_property
    def curve(self) -> LearningCurve:
        return learning_curve(read_log(self.path / LOG))


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def results_in(out: Path) -> Iterator[Result]:
    """The results in a folder of runs, whatever table they belong to, as far as they are whole and
    may be read: some may be another user's."""
    for path in out.glob(f"*/{RESULT}"):
        with suppress(ReadletError):
            result = RunFolder(path.parent).read_result()
            if result is not None:
                yield result


def known_sources(results: Iterable[Result]) -> Digests:
    """Names and digests of all files that finished runs were made from; if a file has changed
    between them, as the newest run knew it."""
    found: dict[str, str] = {}
    for result in sorted(results, key=lambda result: result.finished):
        found |= result.sources
    return found


def _moved(path: Path) -> Path:
    number = 0
    while (place := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    return path.rename(place)
