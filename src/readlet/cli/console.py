"""Terminal output that several commands share: highlighted passages, lists of ids, JSON."""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from rich.markup import escape
from rich.text import Text

from readlet.progress import SafeConsole
from readlet.terminal import escaped_in_json

FEW = 3  # items of a list that are shown by default
# No emoji: a text that contains :snake: is printed unchanged.
console = SafeConsole(highlight=False, emoji=False)


@contextmanager
def on_stderr(needed: bool) -> Iterator[None]:
    """Print what is for people on stderr: a program reads stdout."""
    before = console.stderr
    console.stderr = before or needed
    try:
        yield
    finally:
        console.stderr = before


def print_json(values: Any, *, indent: int | None = None) -> None:
    """Print JSON that a terminal shows harmless and a program reads exactly."""
    print(escaped_in_json(json.dumps(values, ensure_ascii=False, indent=indent)))


def some(ids: Sequence[str], *, list_all: bool) -> str:
    """All ids if `list_all`; otherwise the first few and the number of the others."""
    shown = ids if list_all else ids[:FEW]
    more = f" and {len(ids) - len(shown):,} more" if len(ids) > len(shown) else ""
    return escape(", ".join(shown)) + more


def highlighted(text: str, spans: Iterable[tuple[int, int]]) -> Text:
    """The text with its answers highlighted, also by brackets for terminals without colour."""
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


def discard_output() -> None:
    """What is still in the buffer goes nowhere, so that no error follows at exit."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
