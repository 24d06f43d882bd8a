"""Parquet, read and written by pyarrow (the `parquet` extra).

Answers are written as Hugging Face datasets store those of SQuAD: a list of texts and a list of
starts.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from readlet.data.columns import PLAIN, DataFormat, OnFault, raise_fault
from readlet.data.csv_files import HEADER, LABELS, storable
from readlet.data.rows import RowReader
from readlet.errors import InputError, ReadletError, bad_input
from readlet.installing import install_extra
from readlet.storage.files import atomic_bytes, open_bytes
from readlet.types import Example, Sentence, Span

_BATCH = 1024  # rows


def read_parquet(
    path: Path,
    data_format: DataFormat = PLAIN,
    *,
    on_fault: OnFault = raise_fault,
) -> Iterator[Example | Sentence]:
    if data_format.encoding:
        raise bad_input(path, "", "Parquet has no text encoding", "omit --encoding")
    require_pyarrow(path)
    from pyarrow import ArrowException, parquet

    reader = RowReader(path, data_format)
    with open_bytes(path) as stream:
        try:
            with parquet.ParquetFile(stream) as table:
                names = table.schema_arrow.names
                rows = reader.of(names)
                rows.require("schema", names)
                number = 0
                for batch in table.iter_batches(_BATCH):
                    for row in batch.to_pylist():
                        number += 1
                        try:
                            item = rows.item(f"row {number}", number, row, names)
                        except InputError as error:
                            on_fault(error)
                        else:
                            yield item
        except (ArrowException, OSError) as error:
            first = str(error).splitlines()[0]
            raise bad_input(path, "", f"damaged Parquet ({first})", "write it again") from None


def write_parquet(path: Path, examples: Iterable[Example]) -> None:
    """Write in batches, atomically."""
    require_pyarrow(path)
    import pyarrow
    from pyarrow import parquet

    texts, starts = pyarrow.list_(pyarrow.string()), pyarrow.list_(pyarrow.int64())
    answers = pyarrow.struct([("text", texts), ("answer_start", starts)])
    types = {
        "answers": answers,
        "plausible_answers": answers,
        "is_impossible": pyarrow.bool_(),
    }
    rest = storable(examples, "Parquet")
    batch = list(islice(rest, _BATCH))
    is_labelled = not batch or batch[0].is_labelled
    names = [name for name in HEADER if is_labelled or name not in LABELS]
    schema = pyarrow.schema([(name, types.get(name, pyarrow.string())) for name in names])
    with atomic_bytes(path) as stream:
        try:
            with parquet.ParquetWriter(stream, schema) as writer:
                while batch:
                    records = [_record(example, names) for example in batch]
                    writer.write_batch(pyarrow.RecordBatch.from_pylist(records, schema=schema))
                    batch = list(islice(rest, _BATCH))
        except (pyarrow.ArrowException, OverflowError) as error:
            raise ReadletError(f"{path}: not written: {error}; write a .jsonl file") from None


def require_pyarrow(path: Path) -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        remedy = install_extra("parquet")
        raise bad_input(path, "", "Parquet needs pyarrow", remedy) from None


def _record(example: Example, names: list[str]) -> dict[str, Any]:
    row = {name: getattr(example, name) for name in names}
    for name in ("answers", "plausible_answers"):
        if name in row:
            row[name] = _span_lists(row[name])
    return row


def _span_lists(spans: tuple[Span, ...]) -> dict[str, list[Any]]:
    return {
        "text": [span.text for span in spans],
        "answer_start": [span.start for span in spans],
    }
