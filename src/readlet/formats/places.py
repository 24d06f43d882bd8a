"""Where an answer really stands in its context, when it is not where its file says."""

from itertools import accumulate
from unicodedata import is_normalized, normalize

import regex

from readlet.types import Span

# What a reader takes for one character, accents included: é is never split by it.
_CHARACTER = regex.compile(r"\X")


def nearest_place(context: str, span: Span) -> Span | None:
    """The span's text as near as possible to where it should be; or None.

    A text that differs only in how its accents are written counts, in the context's own spelling.
    """
    if not span.text:
        return None
    before = context.rfind(span.text, 0, max(span.start, 0) + len(span.text))
    after = context.find(span.text, max(span.start, 0))
    places = [place for place in (before, after) if place >= 0]
    if places:
        return Span(min(places, key=lambda place: abs(place - span.start)), span.text)
    if is_normalized("NFC", context) and is_normalized("NFC", span.text):
        return None
    return _nearest_spelling(context, span)


def _nearest_spelling(context: str, span: Span) -> Span | None:
    """Sought in normalised text; a place there is one here where whole characters begin and end."""
    characters = _CHARACTER.findall(context)
    pieces = [normalize("NFC", character) for character in characters]
    # Where each character begins, and the last one ends: in the normalised text, in this one.
    ours = dict(
        zip(
            accumulate(map(len, pieces), initial=0),
            accumulate(map(len, characters), initial=0),
            strict=True,
        )
    )
    text, wanted = "".join(pieces), normalize("NFC", span.text)
    found = []
    place = text.find(wanted)
    while place >= 0:
        if place in ours and place + len(wanted) in ours:
            start, end = ours[place], ours[place + len(wanted)]
            found.append(Span(start, context[start:end]))
        place = text.find(wanted, place + 1)
    return min(found, key=lambda near: abs(near.start - span.start), default=None)
