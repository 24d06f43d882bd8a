"""Isolated Python subprocesses, and the cores of the machine.

They never run code from the current folder. `python -m` puts that folder first on the
path, so that a `pypdf.py` beside a downloaded PDF would be imported. Here the process is isolated
(`-I`) and runs this file, which finds the package where it was found before, however it was
installed, and the libraries where they were found before.

Files that may take hours to parse, or unpack to gigabytes, are read in such a process:
its memory and time are limited, and a crash does not affect the caller.
"""

import importlib.util
import json
import os
import runpy
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

# Nothing of the package is imported at the top: this file runs before the package is found.

_MEMORY = 1 << 30  # bytes
CORES = "READLET_CORES"  # environment variable: how many cores a process may use
_CGROUP = Path("/sys/fs/cgroup")
_FAULT = 3  # exit code: stderr has a line for the user


def usable_cores() -> int:
    """The cores that this process may use: its affinity, the limit of its container, its share."""
    if (share := os.environ.get(CORES, "")).isdecimal():
        return max(1, int(share))
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS, Windows
        cores = os.cpu_count() or 1
    quota = [int(n) for n in _words("cpu.max") if n.isdecimal()]  # "max 100000": no limit
    return max(1, min(cores, -(-quota[0] // quota[1]))) if len(quota) == 2 and quota[1] else cores


def own_cores() -> int:
    """The cores for this process, shared equally with those that `accelerate launch` started."""
    return max(1, usable_cores() // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))


def _words(limit: str) -> Iterator[str]:
    with suppress(OSError):
        yield from (_CGROUP / limit).read_text("ascii").split()


def own_command(module: str, *arguments: str) -> list[str]:
    """The command that runs a module of the package as `__main__`."""
    # The folder of the package itself is kept: its libraries may be there as well.
    ours = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    untrusted = {os.path.realpath(os.curdir)} - {ours}
    # An empty entry, one of PYTHONPATH for example, is the current folder too. Entries relative to
    # it would be another folder's after the next `chdir`.
    path = [p for p in sys.path if os.path.isabs(p) and os.path.realpath(p) not in untrusted]
    return [sys.executable, "-I", os.path.abspath(__file__), json.dumps(path), module, *arguments]


class Job:
    """Work in subprocesses, which another thread can kill."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self.is_killed = False

    def run(
        self, module: str, *arguments: str, data: bytes, seconds: float
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a module on these bytes; after the time limit it is killed: `TimeoutExpired`."""
        pipe: Any = subprocess.PIPE
        with self._lock:
            process = subprocess.Popen(
                own_command(module, *arguments), stdin=pipe, stdout=pipe, stderr=pipe
            )
            self._processes.add(process)
            if self.is_killed:
                process.kill()
        with process:
            try:
                output, errors = process.communicate(data, timeout=seconds)
            except BaseException:  # an interruption too
                process.kill()
                raise
            finally:
                with self._lock:
                    self._processes.discard(process)
        return subprocess.CompletedProcess(process.args, process.returncode, output, errors)

    def text(self, module: str, *arguments: str, data: bytes, seconds: float, what: str) -> str:
        """The text that a module extracts from these bytes by `write_text`; an error of one line
        otherwise."""
        from readlet.errors import ReadletError

        try:
            limit = str(max(1, round(seconds)))
            done = self.run(module, limit, *arguments, data=data, seconds=seconds)
        except subprocess.TimeoutExpired:
            raise ReadletError(f"{what} was not read within {seconds:g} s; split it") from None
        if self.is_killed:
            raise ReadletError(f"reading {what} was cancelled; read it again")
        if done.returncode == _FAULT:
            raise ReadletError(done.stderr.decode("utf-8", "replace").strip())
        if done.returncode != 0:  # out of memory or time, or an error in a library
            raise ReadletError(f"{what} takes too much memory or time; split it")
        return done.stdout.decode("utf-8")

    def kill(self) -> None:
        """Kill what is running; `run` returns at once, now and in later calls."""
        with self._lock:
            self.is_killed = True
            for process in self._processes:
                process.kill()


def write_text(read: Callable[[bytes], str]) -> None:
    """In a subprocess of `Job.text`: read standard input, within the limits."""
    from readlet.errors import ReadletError

    seconds = int(sys.argv[1])
    try:
        import resource
    except ImportError:  # only the time of the whole process is bounded
        pass
    else:
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    try:
        text = read(sys.stdin.buffer.read())
    except ReadletError as error:
        sys.stderr.write(str(error))
        sys.exit(_FAULT)
    # Lone surrogates cannot be encoded.
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))


def _main() -> None:
    """In the new process. The package itself needs no entry on the path."""
    path, module, *arguments = sys.argv[1:]
    sys.path[:] = json.loads(path)
    package = Path(__file__).parent
    found = importlib.util.spec_from_file_location("readlet", package / "__init__.py")
    assert found is not None
    assert found.loader is not None
    sys.modules["readlet"] = face = importlib.util.module_from_spec(found)
    found.loader.exec_module(face)
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _main()
