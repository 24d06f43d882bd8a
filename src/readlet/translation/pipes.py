"""A pipeline of programs: bytes in, bytes out, and no process is left behind."""

import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import IO

from readlet.translation.types import EngineError


def run_pipeline(
    commands: Sequence[Sequence[str]], data: bytes, *, seconds: float, name: str
) -> bytes:
    """The output of programs that read from each other. One that dies or hangs is an error."""
    processes: list[subprocess.Popen[bytes]] = []
    try:
        source: int | IO[bytes] = subprocess.PIPE
        for command in commands:
            process = subprocess.Popen(
                command, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
            if processes:
                _output(processes[-1]).close()  # only the next program reads it
            processes.append(process)
            source = _output(process)
        return _passed_through(processes, data, seconds, name)
    except FileNotFoundError as error:
        raise EngineError(f"{name}: no program {error.filename}; install Apertium again") from None
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _passed_through(
    processes: Sequence[subprocess.Popen[bytes]], data: bytes, seconds: float, name: str
) -> bytes:
    writer = threading.Thread(target=_write, args=(processes[0], data), daemon=True)
    hung = threading.Event()

    def stop() -> None:
        hung.set()
        for process in processes:
            process.kill()

    timer = threading.Timer(seconds, stop)
    timer.start()
    writer.start()
    try:
        output = _output(processes[-1]).read()
        codes = [process.wait() for process in processes]
    finally:
        timer.cancel()
    writer.join()
    if hung.is_set():
        raise EngineError(f"{name}: no result after {seconds:.0f} seconds")
    if any(codes):
        raise EngineError(
            f"{name}: a program of its pipeline ended with code {max(codes, key=abs)}"
        )
    return output


def _write(process: subprocess.Popen[bytes], data: bytes) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError, OSError):  # its exit code says why
        process.stdin.write(data)
    with suppress(BrokenPipeError, OSError):
        process.stdin.close()


def _output(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdout is not None
    return process.stdout
