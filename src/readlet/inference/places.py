"""The place of an answer for people: its sentence and its line."""

from typing import NamedTuple

from readlet.text.passages import sentence_span


class Place(NamedTuple):
    line: int  # from 1
    sentence: str
    start: int  # of the sentence


def place_of(text: str, start: int, end: int) -> Place:
    """The place of the characters from start to end."""
    first, last = sentence_span(text, start, end)
    return Place(text.count("\n", 0, start) + 1, text[first:last], first)
