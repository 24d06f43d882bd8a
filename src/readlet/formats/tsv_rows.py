"""Rows of tab-separated texts, in which a quote is mostly a plain character.

Programs differ: some never quote cells, others quote those with a tab, a line end or a quote in
them. So a cell counts as quoted only if it must be: a stray quote joins no rows and spoils no text.
"""

import csv
from io import StringIO

from readlet.formats.row_lines import RowLines

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
