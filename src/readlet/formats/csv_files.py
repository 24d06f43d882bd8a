"""CSV: cells separated by commas, semicolons, tabs or bars, quoted as spreadsheets do.

Answers are written as JSON in a column `answers`, so that any number of them, with their offsets,
is read back exactly.
"""

import csv
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from readlet.errors import InputError, bad_input
from readlet.formats.columns import PLAIN, Columns, DataFormat, known_names
from readlet.formats.fields import span_records
from readlet.formats.malformed import OnFault, raise_fault
from readlet.formats.row_lines import RowLines
from readlet.formats.rows import RowReader
from readlet.formats.tables import HEADER, LABELS, storable
from readlet.formats.text_rows import TextRows
from readlet.formats.tsv_rows import next_tsv_row
from readlet.storage.files import MAX_PIECE, text_lines
from readlet.types import Example, Sentence

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
