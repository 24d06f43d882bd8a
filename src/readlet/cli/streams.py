"""The standard streams of the command: they may be closed, or nobody may read them any more."""

import io
import os
import select
import sys
from contextlib import suppress
from typing import TextIO


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


def is_unread(stream: TextIO) -> bool:
    """Whether it is a pipe, and its reader is gone."""
    with suppress(OSError, ValueError, AttributeError):  # not a real file; no poll on Windows
        poll = select.poll()
        poll.register(stream.fileno(), 0)  # errors are always reported
        return any(event & select.POLLERR for _, event in poll.poll(0))
    return False


def discard_output() -> None:
    """What is still in the buffer goes nowhere, so that no error follows at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
