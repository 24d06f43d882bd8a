"""The text of a document, and the names of its parts: pages, rows, headings.

Files are read part by part, most of them in a subprocess, which sends the parts as JSON.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from readlet.errors import ReadletError
from readlet.processes import write_text


class Part(NamedTuple):
    """A page, a row, or the text under a heading; without a label its lines are counted."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class DocumentText:
    text: str
    starts: tuple[int, ...] = ()  # of the parts
    labels: tuple[str, ...] = ()
    guessed_encoding: str = ""  # the guess, if it is not UTF-8

    @classmethod
    def of(cls, parts: Iterable[Part], between: str = "\n\n") -> "DocumentText":
        """Parts without text are left out, but where nothing stands between parts."""
        text, length, starts, labels = list[str](), 0, list[int](), list[str]()
        for part in parts:
            if between and not part.text.strip():
                continue
            if text:
                joint = between
                if _is_row(part.label) or _is_row(labels[-1]):
                    joint = "\n"
                elif between == "\n\n" and _goes_on(text[-1], part.text):
                    joint = " "  # a sentence that goes on is not cut
                text.append(joint)
                length += len(joint)
            starts.append(length)
            labels.append(part.label)
            text.append(part.text)
            length += len(part.text)
        return cls("".join(text), tuple(starts), tuple(labels))

    @property
    def row_cuts(self) -> list[int]:
        """Where rows of tables begin, and what comes after them."""
        are_rows = [_is_row(label) for label in self.labels]
        pairs = zip(self.starts, are_rows, [False, *are_rows], strict=False)
        return [start for start, is_row, was_row in pairs if is_row or was_row]

    def place(self, at: int) -> str:
        """The name of the part with this character, or its line: `page 3`, `line 12`."""
        number = bisect_right(self.starts, at) - 1
        label = self.labels[number] if number >= 0 else ""
        return label or f"line {self.text.count(chr(10), 0, at) + 1:,}"


def _goes_on(before: str, after: str) -> bool:
    return before[-1:].isalpha() and after[:1].islower()


# A small file may become a large text: every row of a table repeats its header.
_MOST_CHARACTERS, _MOST_PARTS = 50_000_000, 500_000


def dumped(parts: Iterable[Part]) -> str:
    """For another process; an error of one line if it would be too much for that one."""
    kept, characters = list[Part](), 0
    for part in parts:
        kept.append(part)
        characters += len(part.label) + len(part.text)
        if characters > _MOST_CHARACTERS or len(kept) > _MOST_PARTS:
            most = f"{_MOST_CHARACTERS:,} characters or {_MOST_PARTS:,} parts"
            raise ReadletError(f"the file becomes more than {most}; split it")
    return json.dumps(kept)


def loaded(text: str) -> list[Part]:
    return [Part(label, content) for label, content in json.loads(text)]


# A heading may end in number signs; an expression for them would take quadratic time.
_MARKDOWN_HEADING = re.compile(r"(?m)^#{1,6}[ \t]+(.*)")


def markdown_parts(text: str) -> Iterator[Part]:
    """What stands under each heading; together the text as it is."""
    label, start = "", 0
    for heading in _MARKDOWN_HEADING.finditer(text):
        yield Part(label, text[start : heading.start()])
        label, start = heading_label(heading[1].rstrip(" \t#")), heading.start()
    yield Part(label, text[start:])


def heading_label(heading: str) -> str:
    """The label of the text under a heading."""
    shown = " ".join(heading.split())
    return f"“{shown[:60]}…”" if len(shown) > 60 else shown and f"“{shown}”"


def row_label(where: str, number: int) -> str:
    """The label of a row of a table: in a sheet, or under a heading."""
    return f"{where}, row {number:,}" if where else f"row {number:,}"


_ROW = re.compile(r"(?:.*, )?row [0-9,]+", re.DOTALL)


def _is_row(label: str) -> bool:
    return _ROW.fullmatch(label) is not None


if __name__ == "__main__":
    write_text(lambda text: dumped(markdown_parts(text.decode("utf-8"))))
