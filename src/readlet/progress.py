"""Progress of long work: a bar in a terminal, plain lines elsewhere, always on standard error."""

import sys
import time
from collections.abc import Iterable, Iterator
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


def track(items: Iterable[Item], total: int, label: str) -> Iterator[Item]:
    """Pass items on under a progress bar; plain lines now and then when nobody watches."""
    if sys.stderr.isatty():
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            yield from progress.track(items, total=total, description=label)
        return
    last = time.monotonic()
    for number, item in enumerate(items, 1):
        yield item
        if time.monotonic() - last > _SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            print(f"{label}: {number} of {total}", file=sys.stderr)
