"""Texts with labels to files: CSV, TSV, a JSON array, Parquet."""

import csv
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TextIO

from readlet.errors import ReadletError
from readlet.formats.parquet_files import require_pyarrow
from readlet.formats.tables import is_encodable
from readlet.formats.text_rows import text_record
from readlet.storage.files import atomic_bytes
from readlet.types import Sentence

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
