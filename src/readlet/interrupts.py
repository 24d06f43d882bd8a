"""Ctrl-C in a command: one line and exit code 130, at any time."""

import os
import signal
import sys
from types import FrameType

CODE = 130
_received: list[int] = []


def report_interrupts() -> None:
    """Handle Ctrl-C from now on; only for commands, a program has its own way."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a job may ignore it
        signal.signal(signal.SIGINT, _interrupted)


def was_interrupted() -> bool:
    """Whether Ctrl-C was pressed: libraries may have turned it into an error of their own."""
    return bool(_received)


def _interrupted(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    # Modules that are half loaded may swallow an exception, and then fail later or go on. Nothing
    # is written while they are loaded, so that the process may end at once.
    if _is_importing(frame):
        print("readlet: interrupted", file=sys.stderr, flush=True)
        os._exit(CODE)
    raise KeyboardInterrupt


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib."):
            return True
        frame = frame.f_back
    return False
