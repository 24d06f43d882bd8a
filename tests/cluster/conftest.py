"""Workers and files of the tests of many files."""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from readlet.cluster.files import Job, jobs_of
from readlet.cluster.map_files import MakeWorker
from readlet.errors import ReadletError


def make_upper(log: Path, seconds: float = 0.0) -> MakeWorker:
    """Texts in capitals; a line in the log for each worker that is made and each file begun.

    Nested functions: a worker process cannot import a module of the tests.
    """

    def make() -> Any:
        def note(text: str) -> None:
            with log.open("a") as lines:
                lines.write(f"{text} {os.getpid()}\n")

        note("made")

        def work(source: Path, target: Path) -> Mapping[str, int]:
            note(source.name)
            time.sleep(seconds)
            text = source.read_text("utf-8")
            if "damaged" in text:
                raise ReadletError(f"{source}: is damaged; give another")
            draft = target.with_name(f".{target.name}")
            draft.write_text(text.upper(), "utf-8")
            draft.replace(target)
            return {"letters": len(text)}

        return work

    return make


@pytest.fixture
def upper() -> Callable[..., MakeWorker]:
    return make_upper


@pytest.fixture
def jobs(tmp_path: Path) -> Callable[..., list[Job]]:
    """Write so many small files, and give a job for each: from `in` to `out`."""

    def write(count: int, damaged: int | None = None, out: str = "out") -> list[Job]:
        (tmp_path / "in").mkdir(exist_ok=True)
        for n in range(count):
            text = "damaged" if n == damaged else f"text {n}"
            (tmp_path / "in" / f"{n:02d}.csv").write_text(text)
        return jobs_of([str(tmp_path / "in")], str(tmp_path / out), ".jsonl")

    return write


@pytest.fixture
def question_files(tmp_path: Path) -> Path:
    """Three files of questions and one that is damaged."""
    from readlet.data import read_examples, write_examples

    folder = tmp_path / "questions"
    folder.mkdir()
    questions = [e for e in read_examples("bundled:test") if e.language == "en"][::4][:9]
    for n in range(3):
        write_examples(folder / f"{n}.jsonl", questions[3 * n : 3 * n + 3])
    (folder / "damaged.jsonl").write_text('{"question": "Who?", "context": 3}\n')
    return folder
