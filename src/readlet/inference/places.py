"""Where an answer stands, for people: its sentence and its line."""

import re
from typing import NamedTuple

_ENDS = re.compile(r"[.!?…]['\"”’»)\]]*\s+|[。！？]|\n\s*\n")
_MOST = 600  # characters on each side; what is longer is no sentence, but a table or a log


class Place(NamedTuple):
    line: int  # from 1
    sentence: str
    start: int  # of the sentence


def place_of(text: str, start: int, end: int) -> Place:
    """The place of the characters from start to end."""
    before, after = max(start - _MOST, 0), end + _MOST
    first = max((m.end() for m in _ENDS.finditer(text, before, start)), default=before)
    last = next((m.start() + len(m[0].rstrip()) for m in _ENDS.finditer(text, end, after)), after)
    sentence = text[first:last]
    first += len(sentence) - len(sentence.lstrip())
    return Place(text.count("\n", 0, start) + 1, sentence.strip(), first)
