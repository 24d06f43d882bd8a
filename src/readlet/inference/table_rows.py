"""Rows of tables, each as a line that can be understood alone: `Tariff: Plus; Monthly: 19 EUR`."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat

# A page may name thousands of columns and rows in a few characters; what is written for it must not
# grow faster than the page.
_MOST_COLUMNS = 100  # that one cell spans
_MOST_HELD = 20  # columns of cells from above that go on
_OF_NAME = 80  # characters of a column's name, which every row repeats


def row_line(cells: Iterable[str], names: Sequence[str] = ()) -> str:
    """The cells that have text, each after the name of its column."""
    named = zip(cells, chain(names, repeat("")), strict=False)
    return "; ".join(f"{name}: {cell}" if name else cell for cell, name in named if cell)


@dataclass(slots=True)
class _Cell:
    start: int  # of its text among the parts of the page
    is_name: bool
    columns: int
    rows: int


@dataclass(slots=True)
class _Table:
    names: dict[int, str] = field(default_factory=dict)  # of columns
    number: int = 0  # of the row, from 1
    cells: list[_Cell] = field(default_factory=list)  # of the row so far
    held: dict[int, tuple[int, str]] = field(default_factory=dict)  # rows left, and the text
    in_head: bool = False
    has_table: bool = False  # in this row: then it is layout


class TableRows:
    """The tables of an HTML page that are open while it is read, the innermost last.

    A row is joined when it ends, if its columns have names or it begins with its own: `th`, or
    `thead`. Other tables are layout, and stay as they are. Every text is joined at most once.
    """

    def __init__(self, parts: list[str], mark: str) -> None:
        """Parts are what the page shows so far; the mark begins a row there, and is no text."""
        self._parts = parts
        self._mark = mark
        self._open: list[_Table] = []

    def begin(self, tag: str, markup: str) -> None:
        if tag == "table":
            if self._open:
                self._open[-1].has_table = True
            self._open.append(_Table())
        elif self._open and tag in ("td", "th"):
            columns = rows = 1
            if "=" in markup:
                spans = {name.lower(): int(number) for name, number in _SPAN.findall(markup)}
                columns = min(max(spans.get("colspan", 1), 1), _MOST_COLUMNS)
                rows = max(spans.get("rowspan", 1), 1)
            cell = _Cell(len(self._parts), tag == "th", columns, rows)
            self._open[-1].cells.append(cell)
        else:
            self.end(tag)
            if self._open and tag == "thead":
                self._open[-1].in_head = True

    def end(self, tag: str) -> None:
        if not self._open or tag not in _ENDS_ROW:
            return
        table = self._open[-1]
        if table.cells:
            self._end_row(table)
        if tag == "table":
            self._open.pop()
        elif tag != "tr":
            table.in_head = False

    def _end_row(self, table: _Table) -> None:
        cells, table.cells = table.cells, []
        table.number += 1
        is_layout, table.has_table = table.has_table, False
        has_names = table.names or table.in_head or cells[0].is_name
        if is_layout or not has_names:
            return
        texts = self._texts(table, cells)
        filled = [text for _, text in sorted(texts.items()) if text]
        if len(filled) < 2:  # a title
            return
        if table.in_head or all(cell.is_name for cell in cells):
            table.names = {column: text[:_OF_NAME] for column, text in texts.items()}
            line = " | ".join(dict.fromkeys(filled))
        elif table.names:
            order = sorted(texts)
            line = row_line((texts[at] for at in order), [table.names.get(at, "") for at in order])
        else:
            rest = filled[1:] if texts[0] else filled
            line = row_line(["; ".join(rest)], [texts[0]])
        del self._parts[cells[0].start :]
        self._parts.append(f"\n{self._mark}{table.number}{self._mark}{line}\n")

    def _texts(self, table: _Table, cells: Sequence[_Cell]) -> dict[int, str]:
        """By column; a name stands in every column that it spans."""
        found: dict[int, str] = {}
        if len(table.held) <= len(cells):
            found = {column: text for column, (_, text) in table.held.items()}
        going_on = {at: (left - 1, text) for at, (left, text) in table.held.items() if left > 1}
        ends = [*(cell.start for cell in cells[1:]), len(self._parts)]
        column = 0
        for cell, end in zip(cells, ends, strict=True):
            while column in table.held:
                column += 1
            text = "".join(self._parts[cell.start : end])
            text = " ".join(text.replace(self._mark[0], " ").split())
            spanned = range(column, column + cell.columns)
            found |= dict.fromkeys(spanned if cell.is_name else spanned[:1], text)
            if cell.rows > 1:
                room = max(_MOST_HELD - len(going_on), 0)
                going_on |= dict.fromkeys(spanned[:room], (cell.rows - 1, text[:_OF_NAME]))
            column += cell.columns
        table.held = going_on
        return found


_ENDS_ROW = frozenset({"table", "tr", "thead", "tbody", "tfoot"})
OF_TABLES = _ENDS_ROW | {"td", "th"}
_SPAN = re.compile(r"(?i)\b(colspan|rowspan)\s*=\s*[\"']?([0-9]{1,4})(?![0-9])")
