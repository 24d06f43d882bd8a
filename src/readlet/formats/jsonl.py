"""JSONL: one JSON object on each line."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from readlet.errors import InputError, bad_input
from readlet.formats.columns import PLAIN, DataFormat
from readlet.formats.malformed import OnFault, raise_fault
from readlet.formats.question_rows import row_record
from readlet.formats.rows import RowReader
from readlet.formats.text_rows import text_record
from readlet.storage.files import text_lines
from readlet.types import Example, Sentence


def read_jsonl(
    path: Path,
    data_format: DataFormat = PLAIN,
    *,
    on_fault: OnFault = raise_fault,
) -> Iterator[Example | Sentence]:
    rows = RowReader(path, data_format)
    for number, line in enumerate(text_lines(path, data_format.encoding), 1):
        if line.isspace():
            continue
        try:
            row = json_object(path, number, line)
            item = rows.item(f"line {number}", number, row, list(row))
        except InputError as error:
            on_fault(error)
        else:
            yield item


def json_object(path: Path, number: int, line: str) -> dict[str, Any]:
    """The object on a line."""
    try:
        # Without its newline: else an error at the end is reported on the next line.
        row = json.loads(line.rstrip("\r\n"))
    except json.JSONDecodeError as error:
        place = f"line {number}, column {error.colno}"
        remedy = "write one whole JSON object on each line"
        raise bad_input(path, place, error.msg, remedy) from None
    except (RecursionError, ValueError):  # ValueError: an integer of thousands of digits
        fault = "nested too deeply, or a number has too many digits"
        raise bad_input(path, f"line {number}", fault, "fix this line") from None
    if not isinstance(row, dict):
        fault = f"is a {type(row).__name__}, not an object"
        raise bad_input(path, f"line {number}", fault, "write one object per line, or SQuAD JSON")
    return row


def write_jsonl(stream: TextIO, items: Iterable[Example] | Iterable[Sentence]) -> None:
    for item in items:
        record = row_record(item) if isinstance(item, Example) else text_record(item)
        json.dump(record, stream, ensure_ascii=False)
        stream.write("\n")
