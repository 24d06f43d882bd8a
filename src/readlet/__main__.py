"""`python -m readlet` is the `readlet` command."""

import gc
import os
import sys
from contextlib import suppress

from readlet.console import INTERRUPTED, report_interrupts, say


def main() -> None:
    report_interrupts()
    if sys.argv[1:2] == ["ask"]:
        _answer_at_once()
    else:
        _run()


def _run() -> None:
    try:
        from readlet.cli import main as run  # takes a while
    except KeyboardInterrupt:
        say("readlet: interrupted")
        sys.exit(INTERRUPTED)
    run()


def _answer_at_once() -> None:
    """To look for garbage while modules load, and to free every object at the end, takes a fifth of
    the time of an answer. `ask` leaves neither processes nor files for the end.
    """
    gc.set_threshold(1_000_000)
    try:
        _run()
    except SystemExit as ended:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # they were flushed, and errors reported
                stream.flush()
        os._exit(ended.code if isinstance(ended.code, int) else 1)


if __name__ == "__main__":
    main()
