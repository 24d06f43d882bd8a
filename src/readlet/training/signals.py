"""Signals that stop training."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_signals() -> Iterator[list[int]]:
    """SIGINT (Ctrl-C) and SIGTERM are recorded; the training loop stops between two steps."""
    received: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if received:  # the second signal exits at once
            sys.exit(128 + number)
        received.append(number)

    watched = (signal.SIGINT, signal.SIGTERM)
    try:
        before = {number: signal.signal(number, note) for number in watched}
    except ValueError:  # not in the main thread: signals cannot be handled here
        before = {}
    handled = False
    try:
        yield received
    except (KeyboardInterrupt, SystemExit):
        handled = True
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if received and not handled:  # training ended before the next step: send it again
            signal.raise_signal(received[0])
