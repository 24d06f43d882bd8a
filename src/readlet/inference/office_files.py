"""Word documents, spreadsheets, CSV tables and e-mails: their text in labelled parts.

They are untrusted, and archives that may unpack to gigabytes: each is read in a
subprocess with bounded memory and time (`processes.py`), after its unpacked size was checked.

A row of a table is read with its header, `Price: 12`, so that it can be understood alone.
"""

import csv
import io
import logging
import sys
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import EmailPolicy
from typing import Any

from readlet.errors import ReadletError, extra_needed, is_out_of_memory
from readlet.inference.document_text import Part, dumped, heading_label, row_label
from readlet.inference.html_text import html_text
from readlet.inference.table_rows import row_line
from readlet.processes import write_text

_MOST_UNPACKED, _MOST_MEMBERS = 200_000_000, 10_000  # bytes, files
_MOST_ROWS, _MOST_LINES = 200_000, 1_048_576  # with text, and with empty ones
_MOST_OF_SHEET = 20_000_000  # cells, most of them empty
_MOST_CELLS = 500  # of a row
_OF_HEADER = 10_000  # characters of a header of an e-mail
_MOST_BOUNDARIES = 10_000  # lines of an e-mail that may begin a part
_DAMAGED = "the file is damaged, or its type differs from its name; save it again"
_TOO_LARGE = "the unpacked file is too large; split it, or save it as plain text"


def docx_parts(data: bytes) -> Iterator[Part]:
    """Paragraphs under their headings, and the rows of tables."""
    _check_archive(data)
    with extra_needed("documents"):
        from docx import Document
        from docx.table import Table

    label, lines = "", list[str]()
    document = Document(io.BytesIO(data))
    styles = {style.style_id: style.name or "" for style in document.styles}
    for block in document.iter_inner_content():
        if isinstance(block, Table):
            yield Part(label, "\n".join(lines))
            lines = []
            rows = ([cell.text for cell in row.cells] for row in block.rows)
            for number, line in _table_lines(rows):
                yield Part(row_label(label, number), line)
            continue
        text = block.text.strip()
        style = styles.get(block._p.style, "")  # `block.style` would search all of them
        if text and style.startswith(("Heading", "Title")):
            yield Part(label, "\n".join(lines))
            label, lines = heading_label(text), [text]
        elif text:
            lines.append(text)
    yield Part(label, "\n".join(lines))


def xlsx_parts(data: bytes) -> Iterator[Part]:
    """The rows of all sheets; formulas as the values that were stored with them."""
    _check_archive(data)
    with extra_needed("documents"):
        from openpyxl import load_workbook
    book = load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    for sheet in book.worksheets:
        sheet.reset_dimensions()  # a size that is too small would hide rows
        rows = map(_cells, _bounded(sheet.iter_rows(values_only=True)))
        for number, line in _table_lines(rows):
            yield Part(row_label(sheet.title, number), line)


def _bounded(rows: Iterable[Sequence[object]]) -> Iterator[Sequence[object]]:
    """One cell far to the right makes a row of thousands."""
    cells = 0
    for row in rows:
        cells += len(row)
        if cells > _MOST_OF_SHEET:
            raise ReadletError(_TOO_LARGE)
        yield row


def csv_parts(data: bytes) -> Iterator[Part]:
    """The rows of a table in UTF-8; its first lines determine the separator."""
    text = data.decode("utf-8")
    sample = "".join(text.splitlines(keepends=True)[:20])
    try:
        dialect: Any = csv.Sniffer().sniff(sample[:10_000], ",;\t|")
    except csv.Error:
        dialect = csv.excel
    csv.field_size_limit(len(text) + 1)
    rows = csv.reader(io.StringIO(text, newline=""), dialect)
    for number, line in _table_lines(rows):
        yield Part(row_label("", number), line)


class _Bounded(EmailPolicy):
    """Parsing takes quadratic time for some headers: of long ones the beginning is read, and `…`
    stands for the rest."""

    def header_fetch_parse(self, name: str, value: str) -> str:
        if len(value) > _OF_HEADER:
            value = value[:_OF_HEADER] + "…"
        parsed: str = super().header_fetch_parse(name, value)
        return parsed


def eml_parts(data: bytes) -> Iterator[Part]:
    """An e-mail: its header, then its text; attachments are listed."""
    if data.count(b"\n--") > _MOST_BOUNDARIES:
        raise ReadletError("the e-mail has too many parts; save its text")
    message = message_from_bytes(data, policy=_Bounded())
    assert isinstance(message, EmailMessage)
    names = ("From", "To", "Cc", "Date", "Subject")
    head = [f"{name}: {message[name]}" for name in names if message[name]]
    body = message.get_body(("plain", "html"))
    text = str(body.get_content()) if body is not None else ""
    if body is not None and body.get_content_subtype() == "html":
        text = html_text(text)
    attached = [part.get_filename() or "" for part in message.iter_attachments()]
    if names_of := ", ".join(filter(None, attached)):
        head.append(f"Attached: {names_of}")
    if not head:
        raise ReadletError(_DAMAGED)
    yield Part("", "\n".join(head))
    yield Part("", text.replace("\r\n", "\n").strip())


def _table_lines(rows: Iterable[Iterable[str]]) -> Iterator[tuple[int, str]]:
    """The number of each row that has text, from 1, and its cells beside their column's names.

    The first row with two cells or more is the header; rows above it are titles.
    """
    header: Sequence[str] = ()
    count = 0
    for number, row in enumerate(rows, 1):
        cells = [" ".join(cell.split()) for cell in row]
        filled = [cell for cell in cells if cell]
        count += bool(filled)
        if count > _MOST_ROWS or number > _MOST_LINES:
            raise ReadletError(f"a table has more than {_MOST_ROWS:,} rows; split it")
        if not header:
            if len(filled) > 1:
                header = cells
            if filled:
                yield number, " | ".join(filled)
        elif filled:
            yield number, row_line(cells, header)


def _cells(row: Sequence[object]) -> list[str]:
    """The cells up to the last one; sheets have as many as their longest row."""
    last = max((at for at, value in enumerate(row, 1) if value is not None), default=0)
    if last - row[:last].count(None) > _MOST_CELLS:
        raise ReadletError(f"a row has more than {_MOST_CELLS} cells; split the table")
    return [_shown(value) for value in row[:last]]


def _shown(value: object) -> str:
    """A cell as people write it: no zeros of a time at midnight, no decimals of whole numbers."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).removesuffix(" 00:00:00")


def _check_archive(data: bytes) -> None:
    """Check the declared sizes of an archive; no more than that is read."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
    if len(members) > _MOST_MEMBERS or sum(one.file_size for one in members) > _MOST_UNPACKED:
        raise ReadletError(_TOO_LARGE)


_KINDS = {"docx": docx_parts, "xlsx": xlsx_parts, "csv": csv_parts, "eml": eml_parts}


def office_parts(kind: str, data: bytes) -> list[Part]:
    """The parts of a file; an error of one line for a file that has none."""
    try:
        return list(_KINDS[kind](data))
    except ReadletError:
        raise
    except (MemoryError, RecursionError):
        raise ReadletError(_TOO_LARGE) from None
    except Exception as error:  # the libraries raise whatever a damaged file leads to
        is_large = is_out_of_memory(error) or "out of memory" in str(error)
        raise ReadletError(_TOO_LARGE if is_large else _DAMAGED) from None


if __name__ == "__main__":
    logging.disable()
    write_text(lambda data: dumped(office_parts(sys.argv[2], data)))
