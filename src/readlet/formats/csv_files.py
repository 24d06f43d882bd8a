"""CSV: cells separated by commas, semicolons, tabs or bars, quoted as spreadsheets do.

Answers are written as JSON in a column `answers`, so that any number of them, with their offsets,
is read back exactly.
"""

import csv
import json
import re
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from readlet.errors import InputError, bad_input
from readlet.formats.columns import Columns, known_names
from readlet.formats.fields import span_records
from readlet.formats.malformed import OnFault, raise_fault
from readlet.formats.rows import RowReader
from readlet.formats.tables import HEADER, LABELS, storable
from readlet.storage.files import MAX_PIECE, text_lines
from readlet.types import Example

DELIMITERS = ",\t;|"
# The first line of a file may name the delimiter, for Excel.
_NAMED_DELIMITER = re.compile(r'"?sep=(.)"?\s*')


class _Lines:
    """Lines that can be read again: after a fault, reading continues at the next line."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._ahead: deque[str] = deque()
        self._taken: list[str] = []  # of the current row
        self._number = 0
        self._budget = MAX_PIECE  # characters: the time stays linear if every row has a fault

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._ahead.popleft() if self._ahead else next(self._lines)
        self._number += 1
        self._taken.append(line)
        return line

    def start_row(self) -> int:
        """The number of the line where the next row begins."""
        self._taken.clear()
        return self._number + 1

    def give_back(self, kept: int) -> int:
        """Read the lines of this row again, all but the first ones; the number of lost lines."""
        again = self._taken[kept:]
        self._budget -= sum(map(len, again))
        if self._budget < 0:
            return len(again)
        self._ahead.extendleft(reversed(again))
        self._number -= len(again)
        return 0


def read_csv(
    path: Path, columns: Columns, *, encoding: str = "", on_fault: OnFault = raise_fault
) -> Iterator[Example]:
    """The delimiter is detected from the header, which must name the columns."""
    lines = _Lines(text_lines(path, encoding))
    delimiter = _delimiter(path, lines, columns)
    csv.field_size_limit(MAX_PIECE)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        header = next((cells for cells in reader if not _is_blank(cells)), [])
    except csv.Error as error:
        raise bad_input(path, "header", f"not valid CSV ({error})", "check its quotes") from None
    names = [name.strip() for name in header]
    rows = RowReader(path, columns)
    found = rows.require("header", names)
    number = 0
    while True:
        place = f"line {lines.start_row()}"
        try:
            cells = next(reader, None)
            if cells is None:
                return
            if _is_blank(cells):
                continue
            number += 1
            if len(cells) != len(names):
                fault = f"{len(cells)} cells under {len(names)} column names"
                raise bad_input(path, place, fault, "check its quotes and separators")
        except (csv.Error, InputError) as error:
            on_fault(_row_fault(path, place, error, lines.give_back(1)))
            continue
        # An empty cell is a missing value: CSV cannot distinguish the two.
        row = {name: cell for name, cell in zip(names, cells, strict=True) if cell}
        row.setdefault(found["question"], "")
        row.setdefault(found["context"], "")
        try:
            example = rows.example(place, number, row, names)
        except InputError as error:
            on_fault(error)
        else:
            yield example


def _is_blank(cells: Iterable[str]) -> bool:
    """Whether a row has no content: spreadsheets write `,,` for an empty one."""
    return not any(map(str.strip, cells))


def _row_fault(path: Path, place: str, error: csv.Error | InputError, lost: int) -> InputError:
    place = f"{place} and the next {lost}" if lost else place
    if isinstance(error, InputError):
        return bad_input(path, place, error.fault, error.remedy)
    remedy = "close its quotes, and double those inside of a cell"
    return bad_input(path, place, f"not valid CSV ({error})", remedy)


def _delimiter(path: Path, lines: _Lines, columns: Columns) -> str:
    """The delimiter that gives the most known names, then the most cells."""
    lines.start_row()
    header = next((line for line in lines if not is_blank_line(line)), "")
    if "\r" in header.rstrip("\r\n"):
        fault = "lines end in CR only, as old spreadsheets write them"
        raise bad_input(path, "header", fault, "save it with LF or CRLF line endings")
    if named := _NAMED_DELIMITER.fullmatch(header):
        return named[1]
    lines.give_back(0)
    return max(DELIMITERS, key=lambda delimiter: header_rank(header, delimiter, columns))


def is_blank_line(line: str) -> bool:
    """Whether a line has no cell with content, whatever its delimiter."""
    return not line.strip(f'{DELIMITERS} \r\n"')


def header_rank(header: str, delimiter: str, columns: Columns) -> tuple[int, int]:
    """How many known names the header has with this delimiter, and how many cells."""
    try:
        cells = next(csv.reader([header.split("\r", 1)[0]], delimiter=delimiter), [])
    except csv.Error:
        return 0, 0
    return known_names((cell.strip() for cell in cells), columns), len(cells)


def write_csv(stream: TextIO, examples: Iterable[Example], delimiter: str = ",") -> None:
    # All cells are quoted: then no text is ambiguous, one with a carriage return included.
    writer = csv.writer(stream, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n")
    names: list[str] = []
    for example in storable(examples, "CSV"):
        if not names:
            names = [name for name in HEADER if example.is_labelled or name not in LABELS]
            writer.writerow(names)
        plausible = span_records(example.plausible_answers)
        row = {
            "id": example.id,
            "question": example.question,
            "context": example.context,
            "answers": json.dumps(span_records(example.answers), ensure_ascii=False),
            "is_impossible": "true" if example.is_impossible else "false",
            "plausible_answers": json.dumps(plausible, ensure_ascii=False) if plausible else "",
            "title": example.title,
            "language": example.language,
        }
        writer.writerow([row[name] for name in names])
    if not names:
        writer.writerow(HEADER)


def write_tsv(stream: TextIO, examples: Iterable[Example]) -> None:
    write_csv(stream, examples, "\t")
