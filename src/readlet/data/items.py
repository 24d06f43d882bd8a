"""The items of any source, unchanged. The format is detected by content, never by file name."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from readlet.data.columns import PLAIN, Content, DataFormat, NoColumnError, OnFault, raise_fault
from readlet.data.csv_files import read_csv
from readlet.data.glue import read_glue
from readlet.data.json_files import read_json, read_jsonl
from readlet.data.parquet_files import read_parquet
from readlet.data.sources import PREFIX, detect, encoded, read_hub, source_path
from readlet.errors import EncodingError, input_error
from readlet.types import Example, Sentence


def read(
    source: str | Path, data_format: DataFormat = PLAIN, *, on_fault: OnFault = raise_fault
) -> Iterator[Example | Sentence]:
    """Stream the items of the source unchanged: nothing is repaired or dropped.

    With `on_fault`, malformed rows are passed to it and left out; without, the first one raises an
    error. The encoding is found by a byte order mark, else it is the given one, else UTF-8.
    """
    if str(source).startswith(PREFIX):
        yield from read_hub(str(source), data_format, on_fault=on_fault)
        return
    path = source_path(source)
    data_format = encoded(path, data_format)
    kind = detect(path, data_format)
    if kind == "parquet":
        yield from read_parquet(path, data_format, on_fault=on_fault)
    elif kind == "json" or kind == "array":
        key = "data" if kind == "json" else ""
        yield from read_json(path, data_format, key=key, on_fault=on_fault)
    elif kind == "jsonl":
        yield from read_jsonl(path, data_format, on_fault=on_fault)
    elif kind == "csv":
        yield from read_csv(path, data_format, on_fault=on_fault)
    else:
        yield from read_glue(path, kind, data_format, on_fault=on_fault)


def read_named(
    source: str | Path, data_format: DataFormat | None, content: Content | None = None
) -> Iterator[Example | Sentence]:
    """The same. Without a format, the user can name neither columns nor an encoding.

    Errors about them then suggest another remedy.
    """
    try:
        wanted = data_format or PLAIN
        yield from read(source, replace(wanted, content=content or wanted.content))
    except NoColumnError as error:
        raise (error if data_format is not None else error.without_option) from None
    except EncodingError as error:
        if data_format is not None:
            raise
        command = f"readlet data convert {source} --encoding NAME --out OUT.jsonl"
        remedy = f"save it as UTF-8: {command}"
        raise input_error(EncodingError, source, error.place, error.fault, remedy) from None
