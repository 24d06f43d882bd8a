"""Signals that ask the training to stop."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Ctrl-C and termination are noted, and acted upon between two steps."""
    received: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if received:  # the second time they mean it
            sys.exit(128 + number)
        received.append(number)

    watched = (signal.SIGINT, signal.SIGTERM)
    try:
        before = {number: signal.signal(number, note) for number in watched}
    except ValueError:  # not in the main thread: nothing to watch
        before = {}
    heeded = False
    try:
        yield received
    except (KeyboardInterrupt, SystemExit):
        heeded = True
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if received and not heeded:  # no step came to act upon it: now it has its usual effect
            signal.raise_signal(received[0])
