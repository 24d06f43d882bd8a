"""Examples and Sentences to files: the format follows the name; existing files are kept by default.

Also converts whole files, unchanged, to another format; and writes rows in the format of their
file, with its columns, its separator and its other fields.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from readlet.data.answer_offsets import only_place
from readlet.data.columns import PLAIN, Content, DataFormat
from readlet.data.datasets import content_of, input_path, items_of
from readlet.data.json_files import write_jsonl, write_list, write_squad
from readlet.data.rows import Origin, Row, parse_list, row_record, span_records
from readlet.data.tables import require_pyarrow, write_csv, write_parquet, write_parquet_rows
from readlet.errors import bad_input
from readlet.storage.files import atomic_text
from readlet.storage.overwrite import check_file
from readlet.types import Example, Sentence, Span

_DELIMITERS = {"csv": ",", "tsv": "\t"}
OUTPUT_NAMES = ".json, .jsonl, .csv, .tsv (also .gz) or .parquet"
"""How the name of an output ends."""


def write_examples(path: str | Path, items: Iterable[Example | Sentence]) -> None:
    """SQuAD JSON for `.json`, rows for `.jsonl`, `.csv`, `.tsv`, `.parquet`; written atomically.

    Sentences in `.json` are a list of records. Names of text files may end in `.gz`.

    >>> from readlet import read_examples
    >>> write_examples("dev.csv", read_examples("bundled:dev"))
    >>> list(read_examples("dev.csv")) == list(read_examples("bundled:dev"))
    True
    """
    path, kind = Path(path), output_kind(Path(path))
    if kind == "parquet":
        write_parquet(path, items)
        return
    with atomic_text(path) as stream:
        if kind in _DELIMITERS:
            write_csv(stream, items, _DELIMITERS[kind])
        elif kind == "jsonl":
            write_jsonl(stream, map(row_record, items))
        else:
            _write_json(stream, items)


def _write_json(stream: TextIO, items: Iterable[Example | Sentence]) -> None:
    rest = iter(items)
    first = list(islice(rest, 1))
    every: Iterator[Any] = chain(first, rest)
    if first and isinstance(first[0], Sentence):
        write_list(stream, map(row_record, every))
    else:
        write_squad(stream, every)


def check_target(path: Path, sources: Iterable[str], *, overwrite: bool) -> None:
    """Check that examples from these sources can be written there; call it before long work."""
    if output_kind(path) == "parquet":
        require_pyarrow(path)
    inputs = [input_path(source) for source in sources]
    check_file(path, inputs, overwrite=overwrite)


def is_output(path: Path) -> bool:
    """Whether the name ends in a format that can be written."""
    return path.suffix.lower() == ".parquet" or _text_kind(path) in ("json", "jsonl", *_DELIMITERS)


def output_kind(path: Path) -> str:
    """The format of an output, by its name."""
    if not is_output(path):
        raise bad_input(path, "", "unknown output format", f"end the name in {OUTPUT_NAMES}")
    return "parquet" if path.suffix.lower() == ".parquet" else _text_kind(path)


def _text_kind(path: Path) -> str:
    _, dot, kind = path.name.lower().removesuffix(".gz").rpartition(".")
    return kind if dot else ""


def convert(
    sources: Sequence[str],
    out: Path,
    data_format: DataFormat = PLAIN,
    *,
    overwrite: bool = False,
) -> dict[Content, int]:
    """Write all questions, or all texts with labels, of the sources to one file, in order.

    Returns their number. Nothing is repaired or dropped. Only SQuAD JSON (`.json`) changes the
    order: it has each context once.
    """
    check_target(out, sources, overwrite=overwrite)
    content = content_of(sources[0], data_format)
    written = 0

    def items() -> Iterator[Any]:
        nonlocal written
        for source in sources:
            for item in items_of(source, content, data_format):
                written += 1
                yield item

    write_examples(out, arranged(out, content, items()))
    return {content: written}


def arranged(out: Path, content: Content, items: Iterable[Any]) -> Iterable[Any]:
    """The items in the order in which a file stores them.

    SQuAD JSON groups questions by article and paragraph: these are collected in memory. All other
    formats are written as the items are read.
    """
    if output_kind(out) != "json" or content == "texts":
        return items
    articles: dict[tuple[str, str], dict[str, list[Example]]] = {}
    for example in items:
        paragraphs = articles.setdefault((example.title, example.language), {})
        paragraphs.setdefault(example.context, []).append(example)
    return (
        example
        for paragraphs in articles.values()
        for members in paragraphs.values()
        for example in members
    )


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


def write_own_rows(
    out: Path, origin: Origin, pairs: Iterable[tuple[Example | Sentence, OwnRow | None]]
) -> None:
    """Write items as rows of their file if the output has its format; they are in memory then.

    All other outputs have our own columns.
    """
    rest = iter(pairs)
    read = list(islice(rest, 1))  # then the origin is known
    kind = output_kind(out)
    if origin.kind and origin.kind == ("csv" if kind == "tsv" else kind):
        read += rest
        rows = [row for _, row in read if row is not None]
        if rows and len(rows) == len(read):
            _write_rows(out, origin, rows)
            return
    write_examples(out, (item for item, _ in chain(read, rest)))


def _write_rows(out: Path, origin: Origin, rows: Sequence[OwnRow]) -> None:
    if origin.kind == "csv":
        _write_own_csv(out, origin, rows)
    elif origin.kind == "parquet":
        _write_own_parquet(out, origin, rows)
    else:
        objects = ({**one.row.values, **one.changes} for one in rows)
        with atomic_text(out) as stream:
            (write_list if origin.kind == "json" else write_jsonl)(stream, objects)


def _write_own_csv(out: Path, origin: Origin, rows: Sequence[OwnRow]) -> None:
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


def _write_own_parquet(out: Path, origin: Origin, rows: Sequence[OwnRow]) -> None:
    require_pyarrow(out)
    import pyarrow

    schema = origin.schema
    values = [{**one.row.values, **one.changes} for one in rows]
    if not {name for one in rows for name in one.changes} <= set(schema.names):
        schema = pyarrow.Table.from_pylist(values).schema
    write_parquet_rows(out, schema, values)
