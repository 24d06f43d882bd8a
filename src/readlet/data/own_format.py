"""Writes rows in the format of their file: its columns, its separator, its other fields.

Only what is repaired changes; the rest of a row is kept.
"""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from readlet.data.answer_offsets import only_place
from readlet.data.rows import Origin, Row, parse_list, span_records
from readlet.data.tables import require_pyarrow
from readlet.data.writing import output_kind
from readlet.errors import ReadletError
from readlet.storage.files import atomic_bytes, atomic_text
from readlet.types import Example, Sentence, Span


class OwnRow(NamedTuple):
    """A row of a file, and its changes by column."""

    row: Row
    cells: Sequence[str]  # of CSV
    changes: Mapping[str, Any]


def own_row(origin: Origin, before: Example | Sentence, after: Example | Sentence) -> OwnRow | None:
    """The row of an item that was just read, with what has changed since; None if it has no row."""
    if not origin.kind or origin.row is None:
        return None
    changes: dict[str, Any] = {}
    if isinstance(before, Example) and isinstance(after, Example):
        for field in ("id", "question", "context"):
            if getattr(before, field) != getattr(after, field):
                changes[origin.columns.get(field, field)] = getattr(after, field)
        if (before.answers, before.context) != (after.answers, after.context):
            changes |= _answers(origin.row, origin.columns, after)
        if before.plausible_answers != after.plausible_answers:
            name = origin.columns.get("plausible_answers", "plausible_answers")
            old = origin.row.values.get(name)
            changes[name] = _like(old, after.plausible_answers, after.context)
    return OwnRow(origin.row, origin.cells, changes)


def _answers(row: Row, columns: Mapping[str, str], after: Example) -> dict[str, Any]:
    if (name := columns.get("answers")) is not None:
        return {name: _like(row.values.get(name), after.answers, after.context)}
    if "answer" not in columns:
        return {}
    if not after.answers:
        return dict.fromkeys((columns[f] for f in ("answer", "answer_start") if f in columns), "")
    answer = after.answers[0]
    changes: dict[str, Any] = {columns["answer"]: answer.text}
    if "answer_start" in columns or only_place(after.context, answer.text) != answer.start:
        changes[columns.get("answer_start", "answer_start")] = answer.start
    return changes


def _like(old: Any, answers: Sequence[Span], context: str) -> Any:
    """Answers in the row's own form, with offsets where needed."""
    is_certain = all(only_place(context, one.text) == one.start for one in answers)
    if isinstance(old, str):  # a cell of CSV
        parsed = parse_list(old)
        if not isinstance(parsed, (list, Mapping)) and len(answers) < 2 and is_certain:
            return answers[0].text if answers else ""
        return json.dumps(_like(parsed, answers, context), ensure_ascii=False)
    if isinstance(old, Mapping):
        starts = [one.start for one in answers]
        return {"text": [one.text for one in answers], "answer_start": starts}
    if isinstance(old, list) and old and isinstance(old[0], str) and is_certain:
        return [one.text for one in answers]
    return span_records(answers)


def fits(origin: Origin, out: Path) -> bool:
    """Whether the output has the format of the file, so that its rows can be written to it."""
    kind = output_kind(out)
    return bool(origin.kind) and origin.kind == ("csv" if kind == "tsv" else kind)


def write_own_rows(out: Path, origin: Origin, rows: Sequence[OwnRow]) -> None:
    """Write rows of one file in its own format, atomically."""
    if origin.kind == "csv":
        _write_csv(out, origin, rows)
    elif origin.kind == "parquet":
        _write_parquet(out, origin, rows)
    else:
        start, between, end = ("[\n", ",\n", "\n]\n") if origin.kind == "json" else ("", "\n", "\n")
        with atomic_text(out) as stream:
            for number, one in enumerate(rows):
                stream.write(between if number else start)
                json.dump({**one.row.values, **one.changes}, stream, ensure_ascii=False)
            stream.write(end)


def _write_csv(out: Path, origin: Origin, rows: Sequence[OwnRow]) -> None:
    names = list(rows[0].row.names)
    added = list(dict.fromkeys(name for one in rows for name in one.changes if name not in names))
    delimiter = "\t" if output_kind(out) == "tsv" else origin.delimiter
    with atomic_text(out) as stream:
        writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
        lines = _lines(names, added, rows)
        if origin.is_quoted or delimiter != origin.delimiter:
            writer.writerows(lines)
        else:  # a quote is a character like any other
            stream.writelines(f"{delimiter.join(cells)}\n" for cells in lines)


def _lines(names: list[str], added: list[str], rows: Iterable[OwnRow]) -> Iterable[list[str]]:
    yield [*names, *added]
    for one in rows:
        cells = [
            str(one.changes.get(name, cell)) for name, cell in zip(names, one.cells, strict=True)
        ]
        yield [*cells, *(str(one.changes.get(name, "")) for name in added)]


def _write_parquet(out: Path, origin: Origin, rows: Sequence[OwnRow]) -> None:
    require_pyarrow(out)
    import pyarrow
    from pyarrow import parquet

    names = {name for one in rows for name in one.changes}
    schema = origin.schema if names <= set(origin.schema.names) else None
    try:
        values = [{**one.row.values, **one.changes} for one in rows]
        table = pyarrow.Table.from_pylist(values, schema=schema)
    except (pyarrow.ArrowException, OverflowError) as error:
        raise ReadletError(f"{out}: not written: {error}; write a .jsonl file") from None
    with atomic_bytes(out) as stream:
        parquet.write_table(table, stream)
