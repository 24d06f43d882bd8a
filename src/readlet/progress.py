"""Progress of long tasks: a bar in a terminal, plain lines elsewhere; always on stderr."""

import os
import sys
import time
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from readlet.terminal import harmless, say, silence_stderr, was_interrupted

if TYPE_CHECKING:
    from rich.progress import Progress

Item = TypeVar("Item")

_SECONDS_BETWEEN_LINES = 10.0


class SafeConsole(Console):
    """A console that shows control characters of data, and leaves closed pipes to the caller."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else harmless(text), style, control)

    def on_broken_pipe(self) -> None:
        if not self.stderr:
            raise BrokenPipeError
        silence_stderr()


# Shared by all bars, so that rich can stack them.
CONSOLE = SafeConsole(stderr=True)


def track(items: Iterable[Item], total: int, label: str, *, done: int = 0) -> Iterator[Item]:
    """Yield the items and show progress: a bar in a terminal, an occasional line elsewhere.

    `done` items of the total were finished before.
    """
    items = _until_interrupted(items)
    if os.environ.get("RANK", "0") != "0":  # of several processes, the first one shows it
        yield from items
        return
    if sys.stderr.isatty():
        with _bar("{task.description}") as progress:
            yield from progress.track(items, total=total, completed=done, description=label)
        return
    last = time.monotonic()
    for number, item in enumerate(items, done + 1):
        yield item
        if time.monotonic() - last > _SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            say(f"{label}: {number} of {total}")


def _bar(before: str, *after: str) -> "Progress":
    """A bar with its count and the time left, between two texts."""
    # Imported where it is used: most commands end without a bar.
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    numbers = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    texts = (TextColumn(text) for text in after)
    return Progress(TextColumn(before), *numbers, *texts, console=CONSOLE, transient=True)


def _until_interrupted(items: Iterable[Item]) -> Iterator[Item]:
    """Libraries may swallow Ctrl-C, in the destructor of an object for example."""
    for item in items:
        if was_interrupted():
            raise KeyboardInterrupt
        yield item


class TrainingBar:
    """Progress of training: a bar with the latest metrics, or an occasional plain line."""

    def __init__(self, total: int, done: int, *, shown: bool) -> None:
        self._total = total
        self._shown = shown
        self._bar: Progress | None = None
        self._last = 0.0
        if shown and sys.stderr.isatty():
            self._bar = _bar("training", "{task.description}")
            self._task = self._bar.add_task("", total=total, completed=done)

    def __enter__(self) -> "TrainingBar":
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, step: int, text: str) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=step, description=text)
        elif self._shown and time.monotonic() - self._last > _SECONDS_BETWEEN_LINES:
            self._last = time.monotonic()
            say(f"step {step} of {self._total}: {text}")

    def say(self, text: str) -> None:
        """Print a message on its own line, above the bar."""
        if self._bar is not None:
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        elif self._shown:
            say(text)
