"""Files of predictions, read and written: {"id": answer} as in SQuAD, or rows with all fields."""

import csv
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from readlet.data.tables import require_pyarrow, write_parquet_rows
from readlet.errors import bad_input
from readlet.storage.files import MAX_PIECE, atomic_text, text_chunks, text_lines
from readlet.types import Classification, Prediction, Sentence

Record = Mapping[str, Any]
"""A prediction with the id and the question that it belongs to."""

PREDICTION_FORMATS = ("jsonl", "csv", "json", "parquet")


_FIELDS = tuple(field.name for field in fields(Prediction) if field.name != "n_best")


def record_of(identity: str, question: str, prediction: Prediction, n_best: int) -> Record:
    """The fields of a row; `n_best` candidates if any are wanted."""
    record: dict[str, Any] = {"id": identity, "question": question}
    record |= {name: getattr(prediction, name) for name in _FIELDS}
    if n_best:
        record["n_best"] = [asdict(candidate) for candidate in prediction.n_best[:n_best]]
    return record


def class_record(identity: str, sentence: Sentence, found: Classification) -> Record:
    """The fields of a row with a predicted label, texts included."""
    record: dict[str, Any] = {"id": identity, "text": sentence.text}
    if sentence.second is not None:
        record["second"] = sentence.second
    record["label"] = found.label
    if found.value is None:
        record |= {"probability": found.probability, "probabilities": found.probabilities}
    return record


def check_format(path: Path) -> None:
    """Check that predictions can be written to a file of this name."""
    if _format_of(path) == "parquet":
        require_pyarrow(path)


def _format_of(path: Path) -> str:
    suffix = path.name.removesuffix(".gz").rpartition(".")[2]
    if suffix not in PREDICTION_FORMATS or path.name.endswith(".parquet.gz"):
        remedy = "end the name in .csv, .json or .jsonl (or .gz), or .parquet"
        raise bad_input(path, "", "unknown output format", remedy)
    return suffix


def is_squad(path: Path) -> bool:
    """Whether a file of this name has texts only, as SQuAD's scripts read them."""
    return _format_of(path) == "json"


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Write predictions atomically, one at a time, in the format of the name."""
    kind = _format_of(path)
    if kind == "parquet":
        _write_parquet(path, records)
        return
    writers = {"json": _write_squad, "jsonl": _write_jsonl, "csv": _write_csv}
    with atomic_text(path) as stream:
        writers[kind](stream, records)


def write_predictions(path: Path, predictions: Mapping[str, str]) -> None:
    with atomic_text(path) as stream:
        json.dump(predictions, stream, ensure_ascii=False, indent=0)


def write_na_probs(path: Path, records: Iterable[Record]) -> None:
    """Write the no-answer probabilities as SQuAD's script reads them: {"id": 0.3, ...}."""
    with atomic_text(path) as stream:
        _write_object(stream, ((record["id"], record["no_answer"]) for record in records))


def _write_squad(stream: TextIO, records: Iterable[Record]) -> None:
    _write_object(stream, ((r["id"], r["label"] if "label" in r else r["text"]) for r in records))


def _write_object(stream: TextIO, items: Iterable[tuple[str, str | float]]) -> None:
    """Like `json.dump` with indent 0, but item by item."""
    separator = "{\n"
    for key, value in items:
        stream.write(separator)
        stream.write(f"{_json(key)}: {_json(value)}")
        separator = ",\n"
    stream.write("\n}")


def _write_jsonl(stream: TextIO, records: Iterable[Record]) -> None:
    for record in records:
        stream.write(_json(record) + "\n")


def _write_csv(stream: TextIO, records: Iterable[Record]) -> None:
    """Candidates are one cell of JSON."""
    # All quoted, as a carriage return in a text must be.
    writer = csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n")
    for number, record in enumerate(records):
        if not number:
            writer.writerow(record)
        writer.writerow(
            value if isinstance(value, str) else _json(value) for value in record.values()
        )


def _write_parquet(path: Path, records: Iterable[Record]) -> None:
    """The first record has the columns of all; its list of candidates may be empty."""
    require_pyarrow(path)
    import pyarrow

    rest = iter(records)
    first = next(rest)
    schema = pyarrow.Table.from_pylist([first]).schema
    if "n_best" in first:
        types = {"text": "string", "start": "int64", "end": "int64", "score": "float64"}
        types["sentence"] = "string"
        candidate = pyarrow.struct([(name, pyarrow.type_for_alias(t)) for name, t in types.items()])
        place = schema.get_field_index("n_best")
        schema = schema.set(place, pyarrow.field("n_best", pyarrow.list_(candidate)))
    write_parquet_rows(path, schema, chain([first], rest))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def read_predictions(path: Path) -> dict[str, str]:
    """The texts of {"id": "text"}, or of the rows that `readlet predict` writes."""
    return read_by_id(path, "text", "a text for every id", lambda v: isinstance(v, str))


def read_probabilities(path: Path) -> dict[str, float]:
    """The no-answer probabilities of {"id": 0.3}, or of the rows that `readlet predict` writes."""

    def is_number(value: Any) -> bool:
        # Comparisons with NaN are false: it would silently spoil the thresholds. True is an int.
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        return abs(value) <= sys.float_info.max

    return read_by_id(path, "no_answer", "a number for every id", is_number)


def read_by_id(
    path: Path, field: str, wanted: str, is_right: Callable[[Any], bool]
) -> dict[str, Any]:
    """The values of a JSON object, or of a field of rows."""
    has_rows = path.name.removesuffix(".gz").endswith((".jsonl", ".csv"))
    values = _read_field(path, field) if has_rows else _read_json_object(path, wanted)
    for identity, value in values.items():
        if not is_right(value):
            raise bad_input(path, f"id {identity!r}", f"is {value!r:.40}", f"give {wanted}")
    return values


def _read_json_object(path: Path, wanted: str) -> dict[str, Any]:
    remedy = f"write one JSON object: {wanted}"
    try:
        values = json.loads("".join(text_chunks(path)))
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise bad_input(path, place, error.msg, remedy) from None
    except (RecursionError, ValueError):  # nested too deeply, or a number of too many digits
        raise bad_input(path, "", "is not valid JSON", remedy) from None
    if not isinstance(values, dict):
        raise bad_input(path, "", f"is a {type(values).__name__}", remedy)
    return values


def _read_field(path: Path, field: str) -> dict[str, Any]:
    """One field of every row of a file that `write_records` wrote, by id."""
    is_csv = path.name.removesuffix(".gz").endswith(".csv")
    found = {}
    for place, row in _csv_rows(path) if is_csv else _json_rows(path):
        if not isinstance(row, dict) or not isinstance(row.get("id"), str) or field not in row:
            fault = f"no 'id' or no {field!r}"
            raise bad_input(path, place, fault, "give a file that `readlet predict` wrote")
        found[row["id"]] = row[field]
    return found


def _json_rows(path: Path) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(text_lines(path), 1):
        place = f"line {number}"
        try:
            yield place, json.loads(line)
        except (RecursionError, ValueError):
            raise bad_input(path, place, "not valid JSON", "write one object per line") from None


def _csv_rows(path: Path) -> Iterator[tuple[str, Any]]:
    """Cells are text; numbers in them are parsed, except for the texts of ids and answers."""
    csv.field_size_limit(MAX_PIECE)  # the n-best of a question are in one cell
    rows = csv.DictReader(text_lines(path), strict=True)
    try:
        for row in rows:
            yield f"line {rows.line_num}", row | {"no_answer": _number(row.get("no_answer"))}
    except csv.Error as error:
        fault = f"not valid CSV ({error})"
        raise bad_input(path, f"line {rows.line_num}", fault, "check its quotes") from None


def _number(cell: str | None) -> float | str | None:
    try:
        return float(cell or "")
    except ValueError:
        return cell
