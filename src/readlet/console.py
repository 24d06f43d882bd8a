"""The terminal: messages, output, progress bars, and Ctrl-C.

Control characters in data are escaped, never sent to the terminal. Messages and progress go to
stderr.
"""

import json
import os
import re
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.segment import Segment
from rich.text import Text

if TYPE_CHECKING:
    from rich.progress import Progress

Item = TypeVar("Item")

FEW = 3  # items of a list that are shown by default
_SECONDS_BETWEEN_LINES = 10.0
INTERRUPTED = 130
"""The exit code after Ctrl-C."""
_received: list[int] = []

# C0 except tab and newline, DEL, C1, and bidirectional embeddings, overrides and isolates: they
# can recolour, move, retitle or reorder what a terminal shows.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def harmless(text: str) -> str:
    """The text with a visible character in place of each control character."""
    return _OBEYED.sub("\ufffd", text)


def escaped_in_json(text: str) -> str:
    """JSON of the same values; the control characters that `json.dumps` keeps are escaped."""
    # Newlines between values are kept. Other control characters occur only inside strings.
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def one_line(text: str) -> str:
    return harmless(" ".join(text.splitlines()))


def say(text: str) -> None:
    """Print a message on stderr."""
    try:
        print(harmless(text), file=sys.stderr, flush=True)
    except BrokenPipeError:  # a closed stderr does not end the work
        silence(sys.stderr)


def silence(stream: TextIO) -> None:
    """Discard what is still buffered, and all that comes: no error follows at exit."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def report_interrupts() -> None:
    """Ctrl-C ends the command with one line, at any time. Only for the command line."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a job may ignore it
        signal.signal(signal.SIGINT, _interrupted)


def was_interrupted() -> bool:
    """Whether Ctrl-C was pressed: libraries may turn it into other errors."""
    return bool(_received)


def forget_interrupt() -> None:
    """Ctrl-C has cancelled part of the work, and the command continues."""
    _received.clear()


def _interrupted(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    raise KeyboardInterrupt


class SafeConsole(Console):
    """A console that escapes control characters in data, and leaves closed pipes to the caller."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else harmless(text), style, control)

    def on_broken_pipe(self) -> None:
        if not self.stderr:
            raise BrokenPipeError
        silence(sys.stderr)


# No emoji: a text that contains :snake: is printed unchanged.
console = SafeConsole(highlight=False, emoji=False)
# Shared by all bars, so that rich can stack them.
stderr_console = SafeConsole(stderr=True)


def print_json(values: Any, *, indent: int | None = None) -> None:
    """Print JSON that is harmless in a terminal and exact for programs."""
    print(escaped_in_json(json.dumps(values, ensure_ascii=False, indent=indent)))


def some(ids: Sequence[str], *, list_all: bool) -> str:
    """All ids if `list_all`; otherwise the first few and the number of the others."""
    shown = ids if list_all else ids[:FEW]
    more = f" and {len(ids) - len(shown):,} more" if len(ids) > len(shown) else ""
    return escape(", ".join(shown)) + more


def highlighted(text: str, spans: Iterable[tuple[int, int]]) -> Text:
    """The text with its answers highlighted, by brackets too for terminals without colour."""
    marked = Text()
    at = 0
    for start, end in sorted(set(spans)):
        if start < at:  # overlapping gold answers are highlighted once
            continue
        marked.append(text[at:start])
        marked.append(f"[{text[start:end]}]", style="bold black on bright_yellow")
        at = end
    marked.append(text[at:])
    return marked


class ProgressBar:
    """A bar in a terminal, with the latest `text`; elsewhere an occasional line."""

    def __init__(self, label: str, total: int, done: int = 0, *, shown: bool = True) -> None:
        self._label = label
        self._total = total
        self._shown = shown
        self._bar: Progress | None = None
        self._last = time.monotonic()
        if shown and sys.stderr.isatty():
            self._bar = _bar()
            self._task = self._bar.add_task(label, total=total, completed=done, text="")

    def __enter__(self) -> "ProgressBar":
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, done: int, text: str = "") -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=done, text=text)
        elif self._shown and time.monotonic() - self._last > _SECONDS_BETWEEN_LINES:
            self._last = time.monotonic()
            say(f"{self._label}: {done} of {self._total} {text}".rstrip())

    def say(self, text: str) -> None:
        """Print a message on its own line, above the bar."""
        if self._bar is not None:
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        elif self._shown:
            say(text)


def _bar() -> "Progress":
    # Imported where it is used: most commands end without a bar.
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    numbers = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    before, after = TextColumn("{task.description}"), TextColumn("{task.fields[text]}")
    return Progress(before, *numbers, after, console=stderr_console, transient=True)


def track(items: Iterable[Item], total: int, label: str, *, done: int = 0) -> Iterator[Item]:
    """Yield the items and show progress; `done` items of the total were finished before."""
    shown = os.environ.get("RANK", "0") == "0"  # only the first of several processes shows it
    with ProgressBar(label, total, done, shown=shown) as bar:
        for number, item in enumerate(items, done + 1):
            # Libraries may swallow Ctrl-C, in the destructor of an object for example.
            if was_interrupted():
                raise KeyboardInterrupt
            yield item
            bar.show(number)
