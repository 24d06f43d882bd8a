"""How things look in a terminal: highlighted passages, lists of ids."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.text import Text

FEW = 3  # of a list that is shown, unless all of it is asked for
# No emoji: a text with :snake: in it is shown as it stands.
console = Console(highlight=False, emoji=False)


def some(ids: Sequence[str], *, list_all: bool) -> str:
    """The first few ids and how many more there are, unless all are asked for."""
    shown = ids if list_all else ids[:FEW]
    more = f" and {len(ids) - len(shown):,} more" if len(ids) > len(shown) else ""
    return escape(", ".join(shown)) + more


def highlighted(text: str, spans: Iterable[tuple[int, int]]) -> Text:
    """The text with its answers marked; brackets too, for those who see no colour."""
    marked = Text()
    at = 0
    for start, end in sorted(set(spans)):
        if start < at:  # overlapping gold answers are marked once
            continue
        marked.append(text[at:start])
        marked.append(f"[{text[start:end]}]", style="bold black on bright_yellow")
        at = end
    marked.append(text[at:])
    return marked
