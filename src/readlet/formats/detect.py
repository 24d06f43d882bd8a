"""The format of a file, found in its first bytes."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from readlet.errors import bad_input
from readlet.formats.columns import PLAIN, DataFormat
from readlet.formats.csv_files import DELIMITERS, header_rank, is_blank_line
from readlet.formats.glue import UnnamedTask, unnamed_task
from readlet.storage.files import open_bytes, text_chunks

Kind = Literal["parquet", "json", "array", "jsonl", "csv"] | UnnamedTask
# A string (with a colon after it if it is a key) or a bracket.
_JSON_PIECE = re.compile(r'"((?:[^"\\]|\\.)*)"(\s*:)?|[{}\[\]]')
_JSON_LINE = re.compile(r'^\{\s*".*\}\s*$', re.MULTILINE)


def head_of(path: Path, encoding: str) -> str:
    """The beginning of a text file; empty for Parquet."""
    return "" if _is_parquet(path) else next(text_chunks(path, encoding))


def detect(path: Path, data_format: DataFormat = PLAIN) -> Kind:
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


def _is_json_list(head: str, columns: Mapping[str, str]) -> bool:
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
