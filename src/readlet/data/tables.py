"""Tables: CSV and TSV, Parquet (by pyarrow, the `parquet` extra), and the files of GLUE.

A table is read as rows, which `RowReader` converts to Examples or Sentences. CSV is
separated by commas, semicolons, tabs or bars, and quoted as spreadsheets do. Texts between tabs are
not quoted: a quote is a plain character, unless the names in the header are quoted too.

CSV has the answers of a question as JSON in one cell; Parquet has them as Hugging Face datasets
store those of SQuAD: a list of texts and a list of starts.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, TextIO, TypeVar

from readlet.data.columns import DataFormat, OnFault
from readlet.data.rows import Row, RowReader, span_records
from readlet.errors import InputError, ReadletError, bad_input, extra_needed
from readlet.storage.files import MAX_PIECE, atomic_bytes, open_bytes, text_lines
from readlet.types import Example, Sentence, Span

Item = TypeVar("Item", Example, Sentence)

DELIMITERS = ",\t;|"
_BATCH = 1024  # rows of Parquet
_QUESTIONS = (
    *("id", "question", "context", "answers", "is_impossible", "plausible_answers", "title"),
    *("language", "question_language"),
)
_LABELS = ("answers", "is_impossible")  # unlabelled questions have no such columns


def read_csv(path: Path, reader: RowReader, on_fault: OnFault) -> Iterator[Example | Sentence]:
    """The delimiter is detected from the header, which must name the columns."""
    yield from reader.items(_csv_rows(path, reader), on_fault)


def _csv_rows(path: Path, reader: RowReader) -> Iterator[Row | InputError]:
    data_format, origin = reader.data_format, reader.origin
    lines = text_lines(path, data_format.encoding)
    numbered = ((n, line) for n, line in enumerate(lines) if line.strip(f'{DELIMITERS} \r\n"'))
    blank, header = next(numbered, (0, ""))
    delimiter = max(DELIMITERS, key=lambda one: _cells_in(header, one))
    csv.field_size_limit(MAX_PIECE)
    cells_of = csv.reader(chain([header], lines), delimiter=delimiter, strict=True)
    try:
        names = [cell.strip() for cell in next(cells_of, [])]
    except csv.Error as error:
        raise bad_input(path, "header", f"not valid CSV ({error})", "check its quotes") from None
    reader.require("header", names)
    origin.kind, origin.delimiter = "csv", delimiter
    done = blank  # lines that another reader has read
    if reader.has_texts and delimiter == "\t" and '"' not in header:
        done, origin.is_quoted = blank + 1, False
        cells_of = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    yield from _rows_of(cells_of, path, reader, names, done)


_COLA = ("source", "label", "mark", "text")  # it has no header; the mark is its author's


def read_cola(path: Path, reader: RowReader, on_fault: OnFault) -> Iterator[Example | Sentence]:
    """Columns that the user names are those of other files."""
    reader = RowReader(path, DataFormat(encoding=reader.data_format.encoding, content="texts"))
    lines = text_lines(path, reader.data_format.encoding)
    cells_of = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    yield from reader.items(_rows_of(cells_of, path, reader, _COLA, 0), on_fault)


def _rows_of(
    cells_of: Any, path: Path, reader: RowReader, names: Sequence[str], done: int
) -> Iterator[Row | InputError]:
    """The rows that a reader of the `csv` module finds after `done` lines."""
    found = reader.require("header", names)
    # An empty cell is a missing value, which CSV cannot tell from an empty text.
    texts = {found[field] for field in ("question", "context", "text", "second") if field in found}
    number = 0
    while True:
        before = done + cells_of.line_num
        place = f"line {before + 1}"
        try:
            cells = next(cells_of, None)
            if cells is None:
                return
            if not any(map(str.strip, cells)):  # spreadsheets write `,,` for an empty row
                continue
            number += 1
            if len(cells) == len(names):
                pairs = zip(names, cells, strict=True)
                values = {name: cell for name, cell in pairs if cell or name in texts}
                reader.origin.cells = cells
                yield Row(place, number, values, names)
                continue
            fault = f"{len(cells)} cells under {len(names)} column names"
        except csv.Error as error:
            fault = f"not valid CSV ({error})"
        # An unclosed quote reaches to the next quote, or to the end of the file.
        if lost := done + cells_of.line_num - before - 1:
            place = f"{place} and the next {lost}"
        yield bad_input(path, place, fault, "check its separators, and close and double its quotes")


def _cells_in(header: str, delimiter: str) -> int:
    try:
        return len(next(csv.reader([header], delimiter=delimiter), []))
    except csv.Error:
        return 0


def write_csv(stream: TextIO, items: Iterable[Example | Sentence], delimiter: str = ",") -> None:
    # All cells are quoted, the names too: then no text is ambiguous, also between tabs.
    writer = csv.writer(stream, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n")
    names: tuple[str, ...] = ()
    for item in _storable(items, "CSV"):
        if not names:
            names = _names_for(item)
            writer.writerow(names)
        writer.writerow([_cell(name, getattr(item, name)) for name in names])
    if not names:
        writer.writerow(_QUESTIONS)


def _cell(name: str, value: Any) -> str:
    if isinstance(value, tuple):
        is_empty = not value and name != "answers"
        return "" if is_empty else json.dumps(span_records(value), ensure_ascii=False)
    if isinstance(value, bool):
        return "true" if value else "false"
    return value or ""


def _names_for(item: Example | Sentence) -> tuple[str, ...]:
    """The columns of a table whose first item this is."""
    if isinstance(item, Sentence):
        return ("id", "text", "label") if item.second is None else ("id", "text", "second", "label")
    return tuple(name for name in _QUESTIONS if item.is_labelled or name not in _LABELS)


def _storable(items: Iterable[Example | Sentence], what: str) -> Iterator[Example | Sentence]:
    """The same items; an error at the first one that a table cannot store unchanged."""
    names: tuple[str, ...] = ()
    for item in items:
        names = names or _names_for(item)
        fault = ""
        if _names_for(item) != names:
            is_text = isinstance(item, Sentence)
            both = "single texts and pairs" if is_text else "labelled and unlabelled questions"
            fault = f"{what} cannot store {both} in one file"
        elif not all(map(_is_encodable, [getattr(item, name) for name in names])):
            fault = f"it has an unpaired surrogate, which {what} cannot store"
        if fault:
            raise ReadletError(f"{item.id!r}: {fault}; write a .jsonl file")
        yield item


def _is_encodable(value: Any) -> bool:
    """Whether the text has no unpaired surrogate."""
    try:
        return not isinstance(value, str) or value.isascii() or bool(value.encode())
    except UnicodeEncodeError:
        return False


def read_parquet(path: Path, reader: RowReader, on_fault: OnFault) -> Iterator[Example | Sentence]:
    if reader.data_format.encoding:
        raise bad_input(path, "", "Parquet has no text encoding", "omit --encoding")
    require_pyarrow(path)
    yield from reader.items(_parquet_rows(path, reader), on_fault)


def _parquet_rows(path: Path, reader: RowReader) -> Iterator[Row]:
    from pyarrow import ArrowException, parquet

    with open_bytes(path) as stream:
        try:
            with parquet.ParquetFile(stream) as table:
                names = table.schema_arrow.names
                reader.require("schema", names)
                reader.origin.kind, reader.origin.schema = "parquet", table.schema_arrow
                batches = (batch.to_pylist() for batch in table.iter_batches(_BATCH))
                for number, values in enumerate(chain.from_iterable(batches), 1):
                    yield Row(f"row {number}", number, values, names)
        except (ArrowException, OSError) as error:
            first = str(error).splitlines()[0]
            raise bad_input(path, "", f"damaged Parquet ({first})", "write it again") from None


def write_parquet(path: Path, items: Iterable[Example | Sentence]) -> None:
    require_pyarrow(path)
    import pyarrow

    texts, starts = pyarrow.list_(pyarrow.string()), pyarrow.list_(pyarrow.int64())
    answers = pyarrow.struct([("text", texts), ("answer_start", starts)])
    types = {"answers": answers, "plausible_answers": answers, "is_impossible": pyarrow.bool_()}
    rest = _storable(items, "Parquet")
    batch = list(islice(rest, 1))
    names = _names_for(batch[0]) if batch else _QUESTIONS
    schema = pyarrow.schema([(name, types.get(name, pyarrow.string())) for name in names])
    rows = ({name: _stored(getattr(item, name)) for name in names} for item in chain(batch, rest))
    write_parquet_rows(path, schema, rows)


def write_parquet_rows(path: Path, schema: Any, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows with the columns of a schema in batches, atomically."""
    import pyarrow
    from pyarrow import parquet

    rest = iter(rows)
    with atomic_bytes(path) as stream:
        try:
            with parquet.ParquetWriter(stream, schema) as writer:
                while batch := list(islice(rest, _BATCH)):
                    writer.write_batch(pyarrow.RecordBatch.from_pylist(batch, schema=schema))
        except (pyarrow.ArrowException, OverflowError, UnicodeEncodeError) as error:
            raise ReadletError(f"{path}: not written: {error}; write a .jsonl file") from None


def _stored(value: str | bool | tuple[Span, ...] | None) -> Any:
    if not isinstance(value, tuple):
        return value
    return {"text": [span.text for span in value], "answer_start": [span.start for span in value]}


def require_pyarrow(path: Path) -> None:
    with extra_needed("parquet", str(path)):
        import pyarrow  # noqa: F401


GlueTask = Literal["cola", "sst2", "mrpc"]
_SST2_HEADER = ["sentence", "label"]
_MRPC_HEADER = ["Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"]


def glue_task(head: str) -> GlueTask | None:
    """The task of a file, by its first lines; None if it is not a GLUE file."""
    header, *lines = (line.rstrip("\r").split("\t") for line in head.split("\n"))
    if header == _MRPC_HEADER:
        return "mrpc"
    if len(header) == 4 and header[1] in ("0", "1") and header[2] in ("", "*", "?", "?*"):
        return "cola"
    # The last line may be cut. Other labels than 0 and 1: another task with the same names.
    labels = {cells[1] for cells in lines[:-1] if len(cells) == 2}
    return "sst2" if header == _SST2_HEADER and labels <= {"0", "1"} else None
