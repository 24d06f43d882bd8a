"""Progress of long work: a bar in a terminal, plain lines elsewhere, always on standard error."""

import sys
import time
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

Item = TypeVar("Item")

_SECONDS_BETWEEN_LINES = 10.0
# One for all: bars of one console can stand below each other.
CONSOLE = Console(stderr=True)


def track(items: Iterable[Item], total: int, label: str) -> Iterator[Item]:
    """Pass items on under a progress bar; plain lines now and then when nobody watches."""
    if sys.stderr.isatty():
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=CONSOLE, transient=True) as progress:
            yield from progress.track(items, total=total, description=label)
        return
    last = time.monotonic()
    for number, item in enumerate(items, 1):
        yield item
        if time.monotonic() - last > _SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            print(f"{label}: {number} of {total}", file=sys.stderr)


class TrainingBar:
    """Where training stands: a bar with the latest numbers, or a plain line now and then."""

    def __init__(self, total: int, done: int, *, shown: bool) -> None:
        self._total = total
        self._shown = shown
        self._bar: Progress | None = None
        self._last = 0.0
        if shown and sys.stderr.isatty():
            columns = (
                TextColumn("training"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.description}"),
            )
            self._bar = Progress(*columns, console=CONSOLE, transient=True)
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
            print(f"step {step} of {self._total}: {text}", file=sys.stderr)

    def say(self, text: str) -> None:
        """Something worth a line of its own."""
        if self._bar is not None:
            self._bar.console.print(text)
        elif self._shown:
            print(text, file=sys.stderr)
