"""The items of any source, unchanged. The format is detected by content, never by file name."""

from collections.abc import Iterator
from pathlib import Path

from readlet.errors import EncodingError, bad_input, input_error
from readlet.formats.columns import Columns, NoColumnError
from readlet.formats.csv_files import read_csv
from readlet.formats.detect import detect
from readlet.formats.glue import read_glue
from readlet.formats.hub import PREFIX, read_hub
from readlet.formats.json_files import read_json
from readlet.formats.jsonl import read_jsonl
from readlet.formats.malformed import OnFault, raise_fault
from readlet.formats.parquet_files import read_parquet
from readlet.formats.schemas import Content
from readlet.formats.sources import encoding_of, source_path
from readlet.types import Example, Sentence

NO_COLUMNS: Columns = {}


def read(
    source: str | Path,
    columns: Columns = NO_COLUMNS,
    *,
    content: Content | None = None,
    encoding: str = "",
    on_fault: OnFault = raise_fault,
) -> Iterator[Example | Sentence]:
    """Stream the items of the source unchanged: nothing is repaired or dropped.

    Rows are read as `content`: questions, or texts with labels. By default the names of their
    columns decide.

    With `on_fault`, malformed rows are passed to it and left out; without, the first one raises an
    error. The encoding is found by a byte order mark, else it is the given one, else UTF-8.
    """
    if str(source).startswith(PREFIX):
        yield from read_hub(str(source), columns, content=content, on_fault=on_fault)
        return
    path = source_path(source)
    encoding = encoding_of(path, encoding)
    kind = detect(path, columns, encoding)
    if kind == "parquet":
        if encoding:
            raise bad_input(path, "", "Parquet has no text encoding", "omit --encoding")
        yield from read_parquet(path, columns, content=content, on_fault=on_fault)
    elif kind == "json":
        yield from read_json(path, columns, content=content, encoding=encoding, on_fault=on_fault)
    elif kind == "array":
        yield from read_json(
            path, columns, key="", content=content, encoding=encoding, on_fault=on_fault
        )
    elif kind == "jsonl":
        yield from read_jsonl(path, columns, content=content, encoding=encoding, on_fault=on_fault)
    elif kind == "csv":
        yield from read_csv(path, columns, content=content, encoding=encoding, on_fault=on_fault)
    else:
        if columns:
            raise bad_input(path, "", "this format has no named columns", "omit --column")
        yield from read_glue(path, kind, encoding=encoding, on_fault=on_fault)


def read_named(
    source: str | Path, columns: Columns | None, encoding: str, content: Content | None = None
) -> Iterator[Example | Sentence]:
    """The same. Without `columns`, the user can name neither columns nor an encoding.

    Errors about them then suggest another remedy.
    """
    try:
        yield from read(source, columns or NO_COLUMNS, content=content, encoding=encoding)
    except NoColumnError as error:
        raise (error if columns is not None else error.without_option) from None
    except EncodingError as error:
        if columns is not None:
            raise
        command = f"readlet data convert {source} --encoding NAME --out OUT.jsonl"
        remedy = f"save it as UTF-8: {command}"
        raise input_error(EncodingError, source, error.place, error.fault, remedy) from None
