"""Examples to files: the format is chosen by the name, and nothing is replaced unasked."""

import codecs
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TextIO

from readlet.errors import bad_input
from readlet.formats.columns import PLAIN, DataFormat
from readlet.formats.csv_files import write_csv, write_tsv
from readlet.formats.detect import detect
from readlet.formats.jsonl import write_jsonl
from readlet.formats.other_fields import lost_from_jsonl, lost_from_squad
from readlet.formats.parquet_files import require_pyarrow, write_parquet
from readlet.formats.sources import has_columns, input_path
from readlet.formats.squad import write_squad
from readlet.formats.text_files import (
    write_text_csv,
    write_text_json,
    write_text_parquet,
    write_text_tsv,
)
from readlet.storage.files import atomic_text
from readlet.storage.outputs import ANOTHER_FILE, check_file
from readlet.types import Example, Sentence

_TEXT_WRITERS: dict[str, Callable[[TextIO, Iterable[Example]], None]] = {
    "json": write_squad,
    "jsonl": write_jsonl,
    "csv": write_csv,
    "tsv": write_tsv,
}
_LABELLED_WRITERS: dict[str, Callable[[TextIO, Iterable[Sentence]], None]] = {
    "json": write_text_json,
    "jsonl": write_jsonl,
    "csv": write_text_csv,
    "tsv": write_text_tsv,
}
OUTPUT_NAMES = ".json, .jsonl, .csv, .tsv (also .gz) or .parquet"
"""How the name of an output ends."""


def write_examples(path: Path, examples: Iterable[Example]) -> None:
    """SQuAD JSON for `.json`, rows for `.jsonl`, `.csv`, `.tsv`, `.parquet`; written atomically.

    Names of text files may end in `.gz`.
    """
    if output_kind(path) == "parquet":
        write_parquet(path, examples)
        return
    with atomic_text(path) as stream:
        _TEXT_WRITERS[output_kind(path)](stream, examples)


def write_sentences(path: Path, sentences: Iterable[Sentence]) -> None:
    """A JSON array for `.json`, rows for the others; written atomically. There must be one."""
    if output_kind(path) == "parquet":
        write_text_parquet(path, sentences)
        return
    with atomic_text(path) as stream:
        _LABELLED_WRITERS[output_kind(path)](stream, sentences)


def check_target(
    path: Path, sources: Iterable[str], *, overwrite: bool, remedy: str = ANOTHER_FILE
) -> None:
    """Check that examples from these sources can be written there; call it before long work.

    `remedy` is for a file that is one of the sources.
    """
    if output_kind(path) == "parquet":
        require_pyarrow(path)
    inputs = [input_path(source) for source in sources]
    check_file(path, inputs, overwrite=overwrite, remedy=remedy)


def is_output(path: Path) -> bool:
    """Whether the name says a format that can be written."""
    return path.suffix.lower() == ".parquet" or _text_kind(path) in _TEXT_WRITERS


def output_kind(path: Path) -> str:
    """The format of an output, by its name."""
    if not is_output(path):
        raise bad_input(path, "", "unknown output format", f"end the name in {OUTPUT_NAMES}")
    return "parquet" if path.suffix.lower() == ".parquet" else _text_kind(path)


def _text_kind(path: Path) -> str:
    _, dot, kind = path.name.lower().removesuffix(".gz").rpartition(".")
    return kind if dot else ""


def own_suffix(path: Path, data_format: DataFormat = PLAIN) -> str | None:
    """The end of a name with which `write_examples` keeps the structure of a file.

    None for tables, whose other columns would be lost, and for other encodings than UTF-8.
    """
    encoding = data_format.encoding
    kind = detect(path, data_format)
    with path.open("rb") as raw:
        first = raw.read(2)
    is_squad = kind == "json" and not has_columns(path)
    is_other = bool(encoding) and codecs.lookup(encoding).name != "utf-8"
    if (kind != "jsonl" and not is_squad) or is_other or first in (b"\xff\xfe", b"\xfe\xff"):
        return None
    zipped = ".gz" if first == b"\x1f\x8b" else ""
    return f".{kind}{zipped}"


def lost_by_writing(path: Path) -> str:
    """What a file with an `own_suffix` has that writing its Examples would lose, in words."""
    is_jsonl = detect(path) == "jsonl"
    return lost_from_jsonl(path) if is_jsonl else lost_from_squad(path)
