"""How things look in a terminal: highlighted passages."""

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

# No emoji: a text with :snake: in it is shown as it stands.
console = Console(highlight=False, emoji=False)


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
