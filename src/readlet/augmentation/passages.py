"""A replacement of one piece of a question.

A paragraph, preprocessed for the rules that alter questions: words, stems and names.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from readlet.augmentation.new_questions import plain


class Piece(NamedTuple):
    """Replaces question[start:end] by `text`; an insertion if start equals end."""

    start: int
    end: int
    text: str

    def apply_to(self, question: str) -> str:
        return question[: self.start] + self.text + question[self.end :]


_UPPER = "A-ZÀ-ÖØ-Þ"
_CAPITALISED = rf"(?:(?:[{_UPPER}]\.)+|[{_UPPER}]\w*(?:-\w+|['’](?!s\b)\w+)*)"
_LINK = r"(?:(?:of|de|von|van|del|da|di|du) (?:the |la )?)?"
_NAME = re.compile(rf"(?<![\w'’.-]){_CAPITALISED}(?: {_LINK}{_CAPITALISED})*(?!\w)")
_WORD = re.compile(r"\w+")
_SENTENCE_ENDS = '.!?:"”“(['
_STEM = 4  # letters: enough to relate Italy and Italian


@dataclass(frozen=True, slots=True)
class Found:
    """A name and its offset in a text; `starts` is true at the beginning of a sentence."""

    start: int
    text: str
    starts: bool

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Passage:
    """A preprocessed paragraph and the questions about it."""

    text: str
    words: frozenset[str]
    stems: frozenset[str]
    names: tuple[Found, ...]
    initials: frozenset[str]
    asked: set[str] = field(default_factory=set)


def read_passage(text: str) -> Passage:
    words = frozenset(_WORD.findall(text.casefold()))
    names = tuple(find_names(text))
    return Passage(
        text=text,
        words=words,
        stems=frozenset(map(stem, words)),
        names=names,
        initials=frozenset(initials(name.text) for name in names),
    )


def find_names(text: str) -> Iterator[Found]:
    """Runs of capitalised words, which may be joined by "of", "von" and the like."""
    for match in _NAME.finditer(text):
        before = text[: match.start()].rstrip()
        yield Found(match.start(), match[0], not before or before[-1] in _SENTENCE_ENDS)


def occurs_in(name: str, text: str) -> bool:
    """Whether the text contains exactly this name, and not only inside a longer word."""
    place = text.find(name)
    while place >= 0:
        end = place + len(name)
        if not (text[place - 1 : place].isalnum() or text[end : end + 1].isalnum()):
            return True
        place = text.find(name, place + 1)
    return False


def word_list(text: str) -> list[str]:
    """Case-folded words, split at all punctuation: cheap, and enough to compare forms."""
    return _WORD.findall(text.casefold())


def stem(word: str) -> str:
    return word[:_STEM]


def initials(name: str) -> str:
    """ "usa" for "United States of America", for "U.S.A." and for "USA" itself."""
    letters = [letter for letter in name if letter.isupper()]
    return "".join(letters).casefold() if len(letters) > 1 else ""


def is_asked(passage: Passage, question: str) -> bool:
    return plain(question) in passage.asked
