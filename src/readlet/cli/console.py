"""Terminal output that several commands share: highlighted passages, lists of ids."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.text import Text

FEW = 3  # items of a list that are shown by default
# No emoji: a text that contains :snake: is printed unchanged.
console = Console(highlight=False, emoji=False)


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
