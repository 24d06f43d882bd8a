"""Whether a file can be written again in its own format, with nothing lost."""

import csv
import json
from collections.abc import Iterable
from pathlib import Path

from readlet.errors import bad_input
from readlet.formats import has_columns
from readlet.formats.columns import Columns
from readlet.formats.csv_files import DELIMITERS, header_rank
from readlet.formats.detect import detect, head_of
from readlet.formats.parquet_files import column_names
from readlet.formats.tables import HEADER
from readlet.storage.encodings import encoding_of
from readlet.storage.files import open_bytes

_SUFFIXES = {",": ".csv", "\t": ".tsv"}


def own_suffix(path: Path, columns: Columns, encoding: str, remedy: str) -> str:
    """The end of a name with which `write_examples` keeps the format of a file.

    An error if there is none: the format is only read, or columns would be renamed or lost.
    """
    kind = detect(path, columns, encoding)
    if kind == "parquet":
        _refuse_others(path, column_names(path), remedy)
        return ".parquet"
    with open_bytes(path) as stream:
        chosen = encoding_of(stream.read(4), encoding)
    if chosen != "utf-8":
        raise bad_input(path, "", f"its encoding ({chosen}) would not be kept", remedy)
    suffix, names = "", list[str]()
    if kind == "json" and not has_columns(path, encoding):
        suffix = ".json"
    elif kind == "jsonl":
        suffix, names = ".jsonl", _first_row(head_of(path, encoding))
    elif kind == "csv":
        header = head_of(path, encoding).split("\n", 1)[0]
        delimiter = max(DELIMITERS, key=lambda mark: header_rank(header, mark, columns))
        suffix, names = (
            _SUFFIXES.get(delimiter, ""),
            next(csv.reader([header], delimiter=delimiter)),
        )
    if not suffix:
        raise bad_input(path, "", "its format is only read, not written", remedy)
    _refuse_others(path, (name.strip() for name in names), remedy)
    return f"{suffix}.gz" if _is_zipped(path) else suffix


def _first_row(head: str) -> list[str]:
    """The names in the first line that is an object; lines may be damaged."""
    for line in head.split("\n"):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            return list(row)
    return []


def _refuse_others(path: Path, names: Iterable[str], remedy: str) -> None:
    for name in names:
        if name not in HEADER:
            raise bad_input(path, "", f"its column {name!r:.40} would not be kept", remedy)


def _is_zipped(path: Path) -> bool:
    with path.open("rb") as raw:
        return raw.read(2) == b"\x1f\x8b"
