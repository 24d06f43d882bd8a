"""The items of a source: a file, a split of the bundled corpus, or a dataset of the hub.

The format of a file is detected by its content, never by its name. Datasets of the hub,
`hub:NAME@SPLIT`, are read by the `datasets` library (the `hub` extra).
"""

import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

from readlet.bundled import NAMES, corpus
from readlet.data.columns import (
    PLAIN,
    Columns,
    DataFormat,
    OnFault,
    raise_fault,
)
from readlet.data.json_files import read_json, read_jsonl
from readlet.data.rows import Row, RowReader
from readlet.data.tables import (
    DELIMITERS,
    GlueTask,
    UnnamedTask,
    glue_task,
    header_rank,
    is_blank_line,
    read_csv,
    read_glue,
    read_parquet,
    unnamed_task,
)
from readlet.errors import ReadletError, bad_input, install_extra
from readlet.storage.files import open_bytes, text_chunks
from readlet.types import Example, Sentence

PREFIX, _BUNDLED = "hub:", "bundled:"
_Kind = Literal["parquet", "json", "array", "jsonl", "csv"] | UnnamedTask
# A string (with a colon after it if it is a key) or a bracket.
_JSON_PIECE = re.compile(r'"((?:[^"\\]|\\.)*)"(\s*:)?|[{}\[\]]')
_JSON_LINE = re.compile(r'^\{\s*".*\}\s*$', re.MULTILINE)


def read(
    source: str | Path, data_format: DataFormat = PLAIN, *, on_fault: OnFault = raise_fault
) -> Iterator[Example | Sentence]:
    """Stream the items of the source unchanged: nothing is repaired or dropped.

    With `on_fault`, malformed rows are passed to it and left out; without, the first one raises an
    error. The encoding is found by a byte order mark, else it is the given one, else UTF-8.
    """
    if str(source).startswith(PREFIX):
        reader = RowReader(source, data_format)
        yield from reader.items(_hub_rows(str(source)), on_fault)
        return
    path = source_path(source)
    data_format = _encoded(path, data_format)
    kind = _detect(path, data_format)
    if kind == "parquet":
        yield from read_parquet(path, data_format, on_fault)
    elif kind == "json" or kind == "array":
        yield from read_json(path, data_format, on_fault, key="data" if kind == "json" else "")
    elif kind == "jsonl":
        yield from read_jsonl(path, data_format, on_fault)
    elif kind == "csv":
        yield from read_csv(path, data_format, on_fault)
    else:
        yield from read_glue(path, kind, data_format, on_fault)


def _head(path: Path, encoding: str) -> str:
    """The beginning of a text file; empty for Parquet."""
    return "" if _is_parquet(path) else next(text_chunks(path, encoding))


def _detect(path: Path, data_format: DataFormat) -> _Kind:
    columns = data_format.columns
    if _is_parquet(path):
        return "parquet"
    head = next(text_chunks(path, data_format.encoding))
    if task := unnamed_task(head):
        return task
    start = head.lstrip()[:1]
    if start == "[":
        return "array"
    if start == "{":
        return "json" if _is_json_list(head, columns) else "jsonl"
    header = next((line for line in head.split("\n") if not is_blank_line(line)), "")
    known, cells = max(header_rank(header, delimiter, columns) for delimiter in DELIMITERS)
    # The first line of JSONL may be damaged.
    if not known and _JSON_LINE.search(head):
        return "jsonl"
    if cells > 1 or known:
        return "csv"
    fault = f"starts with {head.strip()[:20]!r}: unknown format"
    raise bad_input(path, "", fault, "give SQuAD JSON, JSONL, CSV, Parquet or a GLUE file")


def _is_parquet(path: Path) -> bool:
    with open_bytes(path) as stream:
        return stream.read(4) == b"PAR1"


def _is_json_list(head: str, columns: Columns) -> bool:
    """Whether the first object has a top-level key "data" and is not a row of a flat file."""
    keys = set()
    depth = 0
    for piece in _JSON_PIECE.finditer(head):
        if piece[0] in "{[":
            depth += 1
        elif piece[0] in "}]":
            depth -= 1
            if not depth:
                break
        elif depth == 1 and piece[2]:
            keys.add(piece[1])
    row = {columns.get(field, field) for field in ("question", "context", "text", "label")}
    return "data" in keys and not keys & row


def _hub_rows(source: str) -> Iterator[Row]:
    """Stream a dataset from the hub or a local folder, without loading it into memory."""
    try:
        import datasets
    except ImportError:
        raise ReadletError(f"{source}: needs `datasets`; {install_extra('hub')}") from None
    name, _, split = source.removeprefix(PREFIX).partition("@")
    if not name:
        raise bad_input(source, "", "no name of a dataset", "write hub:NAME@SPLIT")
    try:
        # Errors are reported below, once.
        datasets.logging.set_verbosity(datasets.logging.CRITICAL)
        logging.getLogger("huggingface_hub").setLevel(logging.CRITICAL)
        rows = datasets.load_dataset(name, split=split or "train", streaming=True)
        for number, values in enumerate(rows, 1):
            yield Row(f"row {number}", number, values, list(values))
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        fault = next(iter(str(error).splitlines()), type(error).__name__)
        remedy = "check NAME and SPLIT in hub:NAME@SPLIT, its files and the network"
        raise bad_input(source, "", fault, remedy) from None


def source_path(source: str | Path) -> Path:
    """The file that a source names; `bundled:test` is a split of the bundled corpus."""
    name = str(source)
    return corpus(name.removeprefix(_BUNDLED)) if name.startswith(_BUNDLED) else Path(source)


def input_path(source: str) -> Path:
    """The file or folder that a source is read from; one on the hub does not exist here."""
    if not source.startswith(PREFIX):
        return source_path(source)
    return Path(source.removeprefix(PREFIX).rpartition("@")[0] or source.removeprefix(PREFIX))


def training_file(source: str) -> Path:
    """The file that a source names. Training needs files: it identifies data by their bytes."""
    if source.startswith(PREFIX):
        remedy = f"convert it first: readlet data convert {source} --out train.jsonl"
        raise bad_input(source, "", "training needs a file", remedy)
    return source_path(source)


def task_of(source: str | Path, data_format: DataFormat = PLAIN) -> GlueTask | None:
    """The GLUE task of the file, or None for all other data."""
    if str(source).startswith(PREFIX):
        return None
    path = source_path(source)
    return glue_task(_head(path, _encoded(path, data_format).encoding))


def _encoded(path: Path, data_format: DataFormat) -> DataFormat:
    """The same format, except that the bundled corpus keeps its own encoding."""
    return replace(data_format, encoding="") if path in map(corpus, NAMES) else data_format
