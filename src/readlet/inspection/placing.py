"""Where an answer that is not at its offset belongs: what `check` reports and `repair` does."""

from collections.abc import Sequence
from dataclasses import dataclass

from readlet.encoding.words import snap
from readlet.formats.places import nearest_place, occurrences, other_spellings
from readlet.types import NO_OFFSET, Span


@dataclass(frozen=True)
class Placement:
    place: Span
    occurring: int  # how often the answer occurs like this in the context


def placement(context: str, span: Span, words: Sequence[tuple[int, int]]) -> Placement | None:
    """The place nearest to the offset. Without one, the first that does not cut a word, if any.

    Places in another case count only if there is no better one. None: it is not in the context.
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
