"""Finds the position of an answer whose offset is wrong or missing.

`check` reports it, and `repair` uses it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import normalize

import regex

from readlet.text.words import snap
from readlet.types import NO_OFFSET, Span

# Signs that are typed alike: a document has curly quotes and special spaces.
_ALIKE = ("'‘’‚‛′", '"“”„‟″', " \t\n\r\u00a0\u2007\u2009\u200a\u202f\u3000")


def only_place(context: str, text: str) -> int:
    """Where the text occurs, if it occurs exactly once; else NO_OFFSET.

    Also NO_OFFSET if that is inside a word, and the text occurs as a whole word in another case:
    `us` in "just the US".
    """
    first = context.find(text) if text else NO_OFFSET
    if first < 0 or context.find(text, first + 1) >= 0:
        return NO_OFFSET
    is_elsewhere = _cuts(context, Span(first, text)) and any(
        not _cuts(context, place) for place in other_spellings(context, text)
    )
    return NO_OFFSET if is_elsewhere else first


def occurrences(context: str, text: str) -> list[Span]:
    """All occurrences of the text, spelled as in the context.

    Unicode normalisation and kinds of quotes and spaces are ignored only if there is
    no exact match, and case only if there is still none.
    """
    if not text:
        return []
    if found := [Span(place, text) for place in _places(context, text)]:
        return found
    if found := _spellings(context, text, ignore_case=False):
        return found
    return _spellings(context, text, ignore_case=True)


def nearest_place(context: str, span: Span) -> Span | None:
    """The occurrence of the span's text that is nearest to its offset, or None.

    Text at the offset itself may differ in case: it is preferred to other occurrences.
    """
    if 0 <= span.start < len(context) and not span.is_in(context):
        for place in other_spellings(context, span.text):
            if place.start == span.start:
                return place
    return min(
        occurrences(context, span.text),
        key=lambda place: abs(place.start - span.start),
        default=None,
    )


def other_spellings(context: str, text: str) -> list[Span]:
    """All occurrences of the text in any case and typography, spelled as in the context."""
    return _spellings(context, text, ignore_case=True) if text else []


def _spellings(context: str, text: str, *, ignore_case: bool) -> list[Span]:
    """In any typography; ß equals ss if case is ignored. An accent stays with its letter."""
    flags = regex.V1 | (regex.IGNORECASE | regex.FULLCASE if ignore_case else 0)
    pattern = "".join(map(_in_any_form, normalize("NFC", text)))
    found = regex.finditer(rf"{pattern}(?!\p{{M}})", context, flags, overlapped=True)
    return [Span(match.start(), match[0]) for match in found]


def _in_any_form(character: str) -> str:
    """A pattern: é may be one character or two."""
    if alike := next((signs for signs in _ALIKE if character in signs), ""):
        return f"[{alike}]"
    apart = normalize("NFD", character)
    return regex.escape(character) if apart == character else f"(?:{character}|{apart})"


def _cuts(context: str, place: Span) -> bool:
    """Whether the span cuts a word: a letter or digit at its edge continues outside.

    In scripts that do not separate words, most spans do.
    """
    edges = ((place.start - 1, place.start), (place.end, place.end - 1))
    return any(
        0 <= outside < len(context) and context[outside].isalnum() and context[inside].isalnum()
        for outside, inside in edges
    )


def _places(text: str, wanted: str) -> list[int]:
    found = []
    place = text.find(wanted)
    while place >= 0:
        found.append(place)
        place = text.find(wanted, place + 1)
    return found


@dataclass(frozen=True)
class Placement:
    place: Span
    occurring: int  # how often the answer occurs like this in the context


def placement(context: str, span: Span, words: Sequence[tuple[int, int]]) -> Placement | None:
    """The occurrence nearest to the offset; without an offset, the first that cuts no word, if any.

    Those in another case count only if there is no better one. None: it is not in the context.
    """
    if span.start != NO_OFFSET:
        near = nearest_place(context, span)
        return None if near is None else Placement(near, 1)
    if not (found := occurrences(context, span.text)):
        return None
    others = [place for place in other_spellings(context, span.text) if place not in found]
    for places in (found, others):
        for place in places:
            whole = snap(words, place.start, place.end)
            if whole is not None and not whole.moved:
                return Placement(place, len(places))
    return Placement(found[0], len(found))
