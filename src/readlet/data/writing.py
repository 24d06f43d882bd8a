"""Texts with labels to files: CSV, TSV, a JSON array, Parquet.

Examples to files: the format is chosen by the name, and nothing is replaced unasked.
"""

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TextIO

from readlet.data.csv_files import is_encodable, write_csv, write_tsv
from readlet.data.json_files import write_jsonl
from readlet.data.parquet_files import require_pyarrow, write_parquet
from readlet.data.rows import text_record
from readlet.data.sources import input_path
from readlet.data.squad import write_squad
from readlet.errors import ReadletError, bad_input
from readlet.storage.files import atomic_bytes, atomic_text
from readlet.storage.overwrite import check_file
from readlet.types import Example, Sentence

_BATCH = 1024  # rows
_SINGLE = ("id", "text", "label")
_PAIR = ("id", "text", "second", "label")


def write_text_csv(stream: TextIO, sentences: Iterable[Sentence], delimiter: str = ",") -> None:
    # All cells are quoted, the names too: then no text is ambiguous, also between tabs.
    writer = csv.writer(stream, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n")
    names: tuple[str, ...] = ()
    for sentence in storable_texts(sentences, "CSV"):
        if not names:
            names = _names(sentence)
            writer.writerow(names)
        writer.writerow([getattr(sentence, name) or "" for name in names])


def write_text_tsv(stream: TextIO, sentences: Iterable[Sentence]) -> None:
    write_text_csv(stream, sentences, "\t")


def write_text_json(stream: TextIO, sentences: Iterable[Sentence]) -> None:
    for number, sentence in enumerate(sentences):
        stream.write(",\n" if number else "[\n")
        json.dump(text_record(sentence), stream, ensure_ascii=False)
    stream.write("\n]\n")


def write_text_parquet(path: Path, sentences: Iterable[Sentence]) -> None:
    """Write in batches, atomically."""
    require_pyarrow(path)
    import pyarrow
    from pyarrow import parquet

    rest = storable_texts(sentences, "Parquet")
    batch = list(islice(rest, _BATCH))
    names = _names(batch[0])
    schema = pyarrow.schema([(name, pyarrow.string()) for name in names])
    with atomic_bytes(path) as stream:
        try:
            with parquet.ParquetWriter(stream, schema) as writer:
                while batch:
                    records = [{name: getattr(s, name) for name in names} for s in batch]
                    writer.write_batch(pyarrow.RecordBatch.from_pylist(records, schema=schema))
                    batch = list(islice(rest, _BATCH))
        except pyarrow.ArrowException as error:
            raise ReadletError(f"{path}: not written: {error}; write a .jsonl file") from None


def storable_texts(sentences: Iterable[Sentence], what: str) -> Iterator[Sentence]:
    """The same texts; an error at the first one that a table cannot store as it is."""
    is_pair = None
    for sentence in sentences:
        if is_pair is None:
            is_pair = sentence.second is not None
        if is_pair != (sentence.second is not None):
            fault = f"{what} cannot store single texts and pairs in one file"
            raise ReadletError(f"row {sentence.id!r}: {fault}; write a .jsonl file")
        texts = (sentence.id, sentence.text, sentence.second or "", sentence.label or "")
        if not all(map(is_encodable, texts)):
            fault = f"it has an unpaired surrogate, which {what} cannot store"
            raise ReadletError(f"row {sentence.id!r}: {fault}; write a .jsonl file")
        yield sentence


def _names(first: Sentence) -> tuple[str, ...]:
    return _SINGLE if first.second is None else _PAIR


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


def check_target(path: Path, sources: Iterable[str], *, overwrite: bool) -> None:
    """Check that examples from these sources can be written there; call it before long work."""
    if output_kind(path) == "parquet":
        require_pyarrow(path)
    inputs = [input_path(source) for source in sources]
    check_file(path, inputs, overwrite=overwrite)


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
