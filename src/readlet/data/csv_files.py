"""What tables (CSV and Parquet) store of examples: the same columns for every row.

The lines of a table, row by row.

Rows of tab-separated texts, in which a quote is mostly a plain character.

Programs differ: some never quote cells, others quote those with a tab, a line end or a quote in
them. So a cell counts as quoted only if it must be: a stray quote joins no rows and spoils no text.

CSV: cells separated by commas, semicolons, tabs or bars, quoted as spreadsheets do.

Answers are written as JSON in a column `answers`, so that any number of them, with their offsets,
is read back exactly.
"""

import csv
import json
import re
from collections import deque
from collections.abc import Iterable, Iterator
from io import StringIO
from pathlib import Path
from typing import TextIO

from readlet.data.columns import PLAIN, Columns, DataFormat, OnFault, known_names, raise_fault
from readlet.data.rows import RowReader, TextRows, span_records
from readlet.errors import InputError, ReadletError, bad_input
from readlet.storage.files import MAX_PIECE, text_lines
from readlet.types import Example, Sentence

HEADER = (
    "id",
    "question",
    "context",
    "answers",
    "is_impossible",
    "plausible_answers",
    "title",
    "language",
    "question_language",
)
LABELS = ("answers", "is_impossible")
"""The columns that a table of unlabelled questions omits."""


def storable(examples: Iterable[Example], what: str) -> Iterator[Example]:
    """The same examples; an error at the first one that a table cannot store as it is."""
    is_labelled = None
    for example in examples:
        if is_labelled is None:
            is_labelled = example.is_labelled
        if example.is_labelled != is_labelled:
            fault = f"{what} cannot store labelled and unlabelled questions in one file"
            raise ReadletError(f"question {example.id!r}: {fault}; write a .jsonl file")
        texts = (example.id, example.question, example.context, example.title)
        languages = (example.language, example.question_language)
        if not all(map(is_encodable, (*texts, *languages))):
            fault = f"it has an unpaired surrogate, which {what} cannot store"
            remedy = "remove it with `readlet data check --fix`, or write a .jsonl file"
            raise ReadletError(f"question {example.id!r}: {fault}; {remedy}")
        yield example


def is_encodable(text: str) -> bool:
    """Whether a text has no unpaired surrogate."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


class RowLines:
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

    def peek(self) -> str | None:
        """The next line, which stays unread; None at the end."""
        if not self._ahead and (line := next(self._lines, None)) is not None:
            self._ahead.append(line)
        return self._ahead[0] if self._ahead else None

    @property
    def taken(self) -> str:
        """The text of the current row as far as it was read."""
        return "".join(self._taken)

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
        self.unread(kept)
        return 0

    def unread(self, kept: int) -> None:
        """The same without a limit, for a reader that looks only a little ahead."""
        again = self._taken[kept:]
        del self._taken[kept:]
        self._ahead.extendleft(reversed(again))
        self._number -= len(again)


_MAX_LINES = 1000  # of one cell: without a limit, a stray quote would be sought in the whole file


def next_tsv_row(lines: RowLines, count: int) -> list[str] | None:
    """The cells of the next row, which should be `count`; None at the end of the file."""
    line = next(lines, None)
    if line is None:
        return None
    plain = line.rstrip("\r\n").split("\t")
    stands_alone = len(plain) == count
    if stands_alone and not _continues(plain, lines.peek(), count):
        return [_unquoted(cell) for cell in plain]
    pieces, cells = [line], _quoted_cells(line)
    limit = _MAX_LINES if len(plain) <= count else 0  # with too many tabs, it is one bad line
    while cells is None and len(pieces) < limit and (following := lines.peek()) is not None:
        if stands_alone and _cell_count(following) == count:
            break  # two rows: the quote was a plain one
        pieces.append(next(lines))
        if '"' in following:
            cells = _quoted_cells("".join(pieces))
    if cells is not None and len(cells) == count:
        return cells
    lines.unread(1)
    return [_unquoted(cell) for cell in plain] if stands_alone else plain


def _continues(cells: list[str], following: str | None, count: int) -> bool:
    """Whether the last cell is a quoted text that goes on in the next line."""
    is_open = cells[-1].startswith('"') and _quoted_cells("\t".join(cells)) is None
    return is_open and following is not None and _cell_count(following) < count


def _cell_count(line: str) -> int:
    return line.count("\t") + 1


def _quoted_cells(text: str) -> list[str] | None:
    """The cells of a row in which cells are quoted; None if a quote is still open."""
    try:
        rows = list(csv.reader(StringIO(text, newline="\n"), delimiter="\t", strict=True))
    except csv.Error as error:
        return None if "unexpected end" in str(error) else []
    return rows[0] if len(rows) == 1 else []


def _unquoted(cell: str) -> str:
    """The text of a cell whose quotes are all doubled; any other cell as it is."""
    inner = cell[1:-1]
    is_quoted = len(cell) > 2 and cell[0] == cell[-1] == '"'
    if not is_quoted or '"' not in inner or '"' in inner.replace('""', ""):
        return cell
    return inner.replace('""', '"')


DELIMITERS = ",\t;|"
_CSV_REMEDY = "check its quotes and separators"
_TSV_REMEDY = "separate cells with one tab, and put a text with tabs in quotes"
# The first line of a file may name the delimiter, for Excel.
_NAMED_DELIMITER = re.compile(r'"?sep=(.)"?\s*')


def read_csv(
    path: Path,
    data_format: DataFormat = PLAIN,
    *,
    on_fault: OnFault = raise_fault,
) -> Iterator[Example | Sentence]:
    """The delimiter is detected from the header, which must name the columns."""
    lines = RowLines(text_lines(path, data_format.encoding))
    delimiter = _delimiter(path, lines, data_format.columns)
    csv.field_size_limit(MAX_PIECE)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        header = next((cells for cells in reader if not _is_blank(cells)), [])
    except csv.Error as error:
        raise bad_input(path, "header", f"not valid CSV ({error})", "check its quotes") from None
    names = [name.strip() for name in header]
    rows = RowReader(path, data_format).of(names)
    found = rows.require("header", names)
    # Tables of texts often have plain quotes in them, unless even the names are quoted.
    is_plain = isinstance(rows, TextRows) and delimiter == "\t" and '"' not in lines.taken
    number = 0
    while True:
        place = f"line {lines.start_row()}"
        try:
            cells = next_tsv_row(lines, len(names)) if is_plain else next(reader, None)
            if cells is None:
                return
            if _is_blank(cells):
                continue
            number += 1
            if len(cells) != len(names):
                fault = f"{len(cells)} cells under {len(names)} column names"
                raise bad_input(path, place, fault, _TSV_REMEDY if is_plain else _CSV_REMEDY)
        except (csv.Error, InputError) as error:
            on_fault(_row_fault(path, place, error, lines.give_back(1)))
            continue
        # An empty cell is a missing value: CSV cannot distinguish the two.
        row = {name: cell for name, cell in zip(names, cells, strict=True) if cell}
        for field in rows.texts:
            if field in found:
                row.setdefault(found[field], "")
        try:
            item = rows.item(place, number, row, names)
        except InputError as error:
            on_fault(error)
        else:
            yield item


def _is_blank(cells: Iterable[str]) -> bool:
    """Whether a row has no content: spreadsheets write `,,` for an empty one."""
    return not any(map(str.strip, cells))


def _row_fault(path: Path, place: str, error: csv.Error | InputError, lost: int) -> InputError:
    place = f"{place} and the next {lost}" if lost else place
    if isinstance(error, InputError):
        return bad_input(path, place, error.fault, error.remedy)
    remedy = "close its quotes, and double those inside of a cell"
    return bad_input(path, place, f"not valid CSV ({error})", remedy)


def _delimiter(path: Path, lines: RowLines, columns: Columns) -> str:
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
            "question_language": example.question_language,
        }
        writer.writerow([row[name] for name in names])
    if not names:
        writer.writerow(HEADER)


def write_tsv(stream: TextIO, examples: Iterable[Example]) -> None:
    write_csv(stream, examples, "\t")
