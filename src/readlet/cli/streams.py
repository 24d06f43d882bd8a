"""The standard streams of the command: they may be closed, or nobody may read them any more."""

import io
import os
import select
import sys
from contextlib import suppress


def prepare_streams() -> None:
    """Open closed streams on the null device, and escape what a terminal cannot encode.

    Otherwise the next file that is opened would take the number of a closed stream, and get what
    libraries print.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            setattr(sys, name, open(number, mode, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def copy_of_output() -> int | None:
    """Another number of standard output, which rich replaces when it is closed."""
    with suppress(OSError, ValueError, AttributeError):  # not a real file
        return os.dup(sys.stdout.fileno())
    return None


def is_unread(output: int | None) -> bool:
    """Whether it is a pipe, and its reader is gone."""
    if output is None or not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(output, 0)  # errors are always reported
    return any(event & select.POLLERR for _, event in poll.poll(0))


def discard_output() -> None:
    """What is still in the buffer goes nowhere, so that no error follows at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
