"""Flat files with one example per row: JSONL, CSV, TSV and Parquet with named columns.

A row whose field for answers (`answers`, `answer` or `is_impossible`) is empty is an impossible
question; a row without such a field is unlabelled. A JSONL line has the fields that it names, a
row of the other formats has all columns. So no row depends on another one.
"""

import csv
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from readlet.errors import ReadletError, bad_input
from readlet.formats.fields import flag_field, offset, spans, text_field
from readlet.formats.squad import question_record
from readlet.installing import install_extra
from readlet.storage.files import MAX_PIECE, open_bytes, text_lines
from readlet.types import Example, Span

FIELDS = (
    "id",
    "question",
    "context",
    "answers",
    "answer",
    "answer_start",
    "is_impossible",
    "plausible_answers",
    "title",
    "language",
)
_LABELS = ("answers", "answer", "is_impossible")
# Fields that may be empty text; in all others, empty text is a missing value, as in CSV.
_MAY_BE_EMPTY = ("id", "question", "context")
# `{"context": "passage"}`: the file's column for our `context` is `passage`.
Columns = Mapping[str, str]


class NoColumnError(ReadletError):
    """A field is missing: its column may have another name, which some commands accept."""

    def __init__(self, source: str | Path, place: str, fault: str, field: str) -> None:
        remedy = f"name the column with --column {field}=NAME"
        super().__init__(str(bad_input(source, place, fault, remedy)))
        # The same error for commands without --column.
        command = f"readlet data check {source} --column {field}=NAME --fix OUT.jsonl"
        remedy = f"rename the columns: {command}"
        self.without_option = bad_input(source, place, fault, remedy)


def read_jsonl(path: Path, columns: Columns) -> Iterator[Example]:
    for number, line in enumerate(text_lines(path), 1):
        if line.isspace():
            continue
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
            raise bad_input(
                path, f"line {number}", fault, "write one object per line, or SQuAD JSON"
            )
        yield row_example(path, number, row, columns, list(row))


def read_csv(path: Path, columns: Columns) -> Iterator[Example]:
    """Comma- or tab-separated, detected from the header; cells quoted as spreadsheets do."""
    lines = text_lines(path)
    header = next(lines)
    if "\r" in header.rstrip("\r\n"):
        fault = "lines end in CR only, as old spreadsheets write them"
        raise bad_input(path, "header", fault, "save it with LF or CRLF line endings")
    delimiter = "\t" if header.count("\t") > header.count(",") else ","
    csv.field_size_limit(MAX_PIECE)
    names = [name.strip() for name in next(csv.reader([header], delimiter=delimiter))]
    _require(path, "header", names, columns)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    number = 0
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            fault, place = f"not valid CSV ({error})", f"line {reader.line_num + 1}"
            raise bad_input(path, place, fault, "check its quotes") from None
        if cells is None:
            return
        if not cells:
            continue
        number += 1
        if len(cells) != len(names):
            fault = f"{len(cells)} cells under {len(names)} column names"
            place = f"line {reader.line_num + 1}"
            raise bad_input(path, place, fault, "check its quotes and separators")
        # An empty cell is a missing value: CSV cannot distinguish the two.
        row = {name: cell for name, cell in zip(names, cells, strict=True) if cell}
        row.setdefault(columns.get("question", "question"), "")
        row.setdefault(columns.get("context", "context"), "")
        yield row_example(path, number, row, columns, names)


def read_parquet(path: Path, columns: Columns) -> Iterator[Example]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        remedy = install_extra("parquet")
        raise bad_input(path, "", "Parquet needs pyarrow", remedy) from None
    with open_bytes(path) as stream:
        try:
            with parquet.ParquetFile(stream) as table:
                number = 0
                for batch in table.iter_batches(1024):
                    for row in batch.to_pylist():
                        number += 1
                        yield row_example(path, number, row, columns, list(row))
        except (ArrowException, OSError) as error:
            first = str(error).splitlines()[0]
            raise bad_input(path, "", f"damaged Parquet ({first})", "write it again") from None


def row_example(
    source: str | Path, number: int, row: Mapping[str, Any], columns: Columns, names: list[str]
) -> Example:
    """The example in one row of any flat format; `names` are the row's columns."""
    place = f"row {number}"
    if number == 1:
        _require(source, place, names, columns)
    named = {field: row.get(columns.get(field, field)) for field in FIELDS}
    present = {field: value for field, value in named.items() if _is_given(field, value)}
    if "answer" not in present and _parse(present.get("answer_start")) in (0, -1):
        del present["answer_start"]  # a placeholder next to a missing answer

    def text(field: str) -> str:
        name = columns.get(field, field)  # errors name the file's own column
        return text_field(source, place, {name: present.get(field)}, name)

    context = text("context")
    answers = _answers(source, place, present, context)
    # Without a column for labels, a question is unlabelled, not impossible.
    labelled = any(columns.get(field, field) in names for field in _LABELS)
    impossible = _parse(present.get("is_impossible", labelled and not answers))
    return Example(
        id=str(present.get("id", number)),
        question=text("question"),
        context=context,
        answers=answers,
        is_impossible=flag_field(source, place, impossible, "is_impossible"),
        plausible_answers=spans(source, place, _parse(present.get("plausible_answers", []))),
        title=str(present.get("title", "")),
        language=str(present.get("language", "")),
    )


def write_jsonl(stream: TextIO, examples: Iterable[Example]) -> None:
    for example in examples:
        row = question_record(example) | {"context": example.context}
        if example.title:
            row["title"] = example.title
        if example.language:
            row["language"] = example.language
        json.dump(row, stream, ensure_ascii=False)
        stream.write("\n")


def _answers(
    source: str | Path, place: str, row: Mapping[str, Any], context: str
) -> tuple[Span, ...]:
    if "answers" in row:
        listed = spans(source, place, _parse(row["answers"]))
        if "answer" in row and row["answer"] not in [span.text for span in listed]:
            fault = "'answer' is not one of its 'answers'"
            raise bad_input(source, place, fault, "remove one of the two fields")
        return listed
    if "answer" not in row:
        if not _is_missing(row.get("answer_start")):
            fault = "'answer_start' without 'answer'"
            raise bad_input(source, place, fault, "give both, or neither")
        return ()
    text = text_field(source, place, row, "answer")
    if "answer_start" in row:
        return (Span(offset(source, place, _parse(row["answer_start"])), text),)
    # Without a start, only a single occurrence is unambiguous; `data check` reports a -1.
    return (Span(context.find(text) if context.count(text) == 1 else -1, text),)


def _parse(value: Any) -> Any:
    """CSV cells are text: lists, numbers and flags in them are written as JSON."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value.lower() if value.lower() in ("true", "false") else value)
    except (RecursionError, ValueError):
        return value


def _is_given(field: str, value: Any) -> bool:
    if value == "":
        return field in _MAY_BE_EMPTY
    # A NaN start next to an answer is an error that `offset` reports.
    return value is not None if field == "answer_start" else not _is_missing(value)


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _require(source: str | Path, place: str, names: list[str], columns: Columns) -> None:
    """Columns for questions, contexts and all fields that the user has mapped must exist."""
    for field in dict.fromkeys(("question", "context", *columns)):
        name = columns.get(field, field)
        if name not in names:
            known = ", ".join(f"{name:.40}" for name in names[:12]) or "none"
            raise NoColumnError(source, place, f"no column {name!r} (it has {known})", field)
    for field in FIELDS:
        name = columns.get(field, field)
        if names.count(name) > 1:
            fault = f"{names.count(name)} columns are named {name!r}"
            raise bad_input(source, place, fault, "give each a unique name")


def parse_columns(pairs: Iterable[str]) -> dict[str, str]:
    """Parse `context=passage` from the command line."""
    columns = {}
    for pair in pairs:
        field, _, name = pair.partition("=")
        if field not in FIELDS or not name:
            known = ", ".join(FIELDS)
            raise ReadletError(f"--column {pair}: write FIELD=NAME, with FIELD one of {known}")
        columns[field] = name
    return columns
