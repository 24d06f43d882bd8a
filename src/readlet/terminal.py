"""The terminal of a command: control characters in data are shown, never obeyed; and Ctrl-C."""

import os
import re
import signal
import sys
from types import FrameType

INTERRUPTED = 130
"""The exit code after Ctrl-C."""
_received: list[int] = []

# C0 except tab and newline, DEL, C1, and the bidirectional embeddings, overrides and isolates: they
# recolour, move, retitle or reorder what a terminal shows.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def harmless(text: str) -> str:
    """The text with a visible character in place of each control character."""
    return _OBEYED.sub(_picture, text)


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"


def escaped_in_json(text: str) -> str:
    """JSON of the same values; the control characters that `json.dumps` keeps are escaped."""
    # Newlines between the values stay. All others can only stand inside of strings.
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def one_line(text: str) -> str:
    return harmless(" ".join(text.splitlines()))


def say(text: str) -> None:
    """Print a message on stderr."""
    try:
        print(harmless(text), file=sys.stderr, flush=True)
    except BrokenPipeError:
        silence_stderr()


def silence_stderr() -> None:
    """Nobody reads the messages any more: that is no reason to end the work."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def report_interrupts() -> None:
    """Ctrl-C ends the command with one line, at any time. Not for programs: they have their way."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a job may ignore it
        signal.signal(signal.SIGINT, _interrupted)


def was_interrupted() -> bool:
    """Whether Ctrl-C was pressed: libraries may have turned it into an error of their own."""
    return bool(_received)


def forget_interrupt() -> None:
    """Ctrl-C has cancelled a part of the work, and the command goes on."""
    _received.clear()


def _interrupted(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    raise KeyboardInterrupt
