"""Texts in a terminal: control characters in data are shown, never obeyed."""

import os
import re
import sys

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
