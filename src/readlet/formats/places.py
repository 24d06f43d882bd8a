"""Search for the position of an answer whose offset is wrong."""

from itertools import accumulate
from unicodedata import is_normalized, normalize

import regex

from readlet.types import Span

# A grapheme cluster, accents included: é is never split.
_CHARACTER = regex.compile(r"\X")


def nearest_place(context: str, span: Span) -> Span | None:
    """The occurrence of the span's text that is nearest to its offset, or None.

    Unicode normalisation is ignored; the returned text is spelled as in the context.
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
    """Search in normalised text; only matches of whole characters are mapped back."""
    characters = _CHARACTER.findall(context)
    pieces = [normalize("NFC", character) for character in characters]
    # Offsets of the characters, and of the end: in the normalised text -> in the context.
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
