"""The finished lines of a long task: after a crash or SIGKILL it continues after them.

The first line describes the task. Lines are synchronised with the disk in chunks of a fixed size,
and a task continues at the beginning of a chunk, so its chunks are the same as without the crash.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from readlet.errors import BusyError, CannotResumeError, bad_input, input_error
from readlet.storage.files import MAX_PIECE, locked, written_to


class PartialLines:
    """JSON objects, one on each line of a file. `done` of them are finished."""

    def __init__(self, path: Path, *, task: Mapping[str, Any], chunk: int, total: int) -> None:
        self.path = path
        self._chunk = chunk
        header = (json.dumps(task) + "\n").encode()
        with written_to(path), path.open("a+b") as stream:
            stream.seek(0)
            first = stream.readline(MAX_PIECE)
            if first != header and header.startswith(first):  # new, or killed while it was written
                stream.truncate(0)
                stream.write(header)
                self.done, self._start = 0, len(header)
            else:
                _check(path, first, task)
                self._start = len(first)
                self.done, size = self._whole(stream, total)
                stream.truncate(size)
        self._stream = path.open("ab")
        self._sync()

    def append(self, record: Mapping[str, Any]) -> None:
        with written_to(self.path):
            self._stream.write((json.dumps(record) + "\n").encode())
        self.done += 1
        if self.done % self._chunk == 0:
            self._sync()

    def records(self) -> Iterator[dict[str, Any]]:
        """All records that were appended, in order."""
        self._sync()
        with self.path.open("rb") as stream:
            stream.seek(self._start)
            for line in stream:
                yield json.loads(line)

    def close(self) -> None:
        with written_to(self.path):
            self._stream.close()

    def _whole(self, stream: Any, total: int) -> tuple[int, int]:
        """How many records to keep: whole chunks, or all; and the size of the file with them."""
        kept, size = 0, self._start
        end = size
        for found, line in enumerate(stream, 1):
            if not line.endswith(b"\n") or not _is_object(line):
                break
            end += len(line)
            if found % self._chunk == 0 or found == total:
                kept, size = found, end
        return kept, size

    def _sync(self) -> None:
        with written_to(self.path):
            self._stream.flush()
            os.fsync(self._stream.fileno())


@contextmanager
def partial_lines(
    path: Path, *, task: Mapping[str, Any], chunk: int, total: int
) -> Iterator[PartialLines]:
    """The lines of a task, new or continued; removed at the end unless an error is raised.

    The file of another task is never changed: that is an error, as is a second process.
    """
    try:
        with locked(path) as is_ours:
            if not is_ours:
                fault = "another process is writing it"
                remedy = "wait for it, or give another output"
                raise input_error(BusyError, path, "", fault, remedy)
            lines = PartialLines(path, task=task, chunk=chunk, total=total)
            try:
                yield lines
            finally:
                lines.close()
            path.unlink()
    except OSError as error:
        if error.filename != str(path) or isinstance(error, BrokenPipeError):
            raise
        fault = f"cannot be written ({error.strerror})"
        raise bad_input(path, "", fault, "give another output") from None


def _check(path: Path, line: bytes, task: Mapping[str, Any]) -> None:
    """Raise an error that names the difference if the file is that of another task."""
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    fault = ""
    if not isinstance(found, dict) or not line.endswith(b"\n") or found.keys() != task.keys():
        fault = "exists, but is not the beginning of this output"
    elif changed := [key for key in task if found[key] != json.loads(json.dumps(task[key]))]:
        fault = f"is the beginning of an output with another {', '.join(changed)}"
    if fault:
        remedy = "remove it, or give another output"
        raise CannotResumeError(str(bad_input(path, "", fault, remedy)))


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:  # for example zeros, after a power failure
        return False
