"""Rows of flat files to Examples and Sentences, and back to the JSON object of a row.

A row is a JSON object or a line of a table. One of questions whose field for answers (`answers`,
`answer` or `is_impossible`) is empty is an impossible question; without such a field it is
unlabelled. A JSON object has the fields that it names, a row of the other formats has all columns.
So no row depends on another one.

A label of a text is a number or a word, and is kept as text. A row without one is unlabelled.
"""

import ast
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from readlet.data.answer_offsets import occurrences, only_place
from readlet.data.columns import (
    QUESTIONS,
    TEXTS,
    ColumnFinder,
    Columns,
    DataFormat,
    OnFault,
    content_of_columns,
    guessed_content,
    is_question_data,
)
from readlet.errors import InputError, bad_input
from readlet.types import NO_OFFSET, Example, Sentence, Span


class Row(NamedTuple):
    """A row with all columns of its file, also those that are not fields."""

    place: str
    number: int  # its id if it has none
    values: Mapping[str, Any]  # by column; one without a value may be left out
    names: Sequence[str]  # of all columns


@dataclass
class Origin:
    """The last row that was read, unconverted, and how the file is written."""

    kind: Literal["", "csv", "jsonl", "json", "parquet"] = ""
    """Of files of rows; empty for all others, such as SQuAD's articles."""
    row: Row | None = None
    columns: Columns = field(default_factory=dict)
    cells: Sequence[str] = ()  # of CSV: several columns may have one name, or none
    delimiter: str = ","
    is_quoted: bool = True
    schema: Any = None  # of Parquet


class RowReader:
    """Converts the rows of one source to examples or sentences.

    Which of them is decided by `content`, else by the columns that the user named, else by the
    first row with names of either kind.
    """

    def __init__(
        self, source: str | Path, data_format: DataFormat, origin: Origin | None = None
    ) -> None:
        self.data_format = data_format
        self.origin = origin or Origin()
        columns, content = data_format.columns, data_format.content
        named = content_of_columns(columns)
        if content is not None and named not in (None, content):
            fault = f"--column names a field of {named}, but {content} are wanted"
            raise bad_input(source, "", fault, "omit --column, or name other fields")
        self._source = source
        self._is_checked = content != "texts" or named == "texts"
        self._content = content or named
        self._columns = columns
        self._finder: ColumnFinder | None = None
        self._has_columns = False

    def of(self, names: Sequence[str]) -> ColumnFinder:
        """The column finder for rows with these columns: for questions, or for texts."""
        if not self._is_checked and is_question_data(names):
            fault = "contains questions, not texts with labels"
            remedy = "give such texts, or name their columns with --column text=NAME"
            raise bad_input(self._source, "", fault, remedy)
        self._is_checked = True
        content = self._content or guessed_content(names)
        if content != self._content or self._finder is None:
            schema = TEXTS if content == "texts" else QUESTIONS
            self._finder = ColumnFinder(self._source, self._columns, schema)
            self._has_columns = False
        self._content = content
        return self._finder

    def require(self, place: str, names: Sequence[str]) -> Columns:
        """The columns of all rows of a table, or of the first row; an error if some are missing."""
        found = self.of(names).require(place, names)
        self._has_columns = True
        return found

    @property
    def has_texts(self) -> bool:
        """Whether the rows are texts with labels."""
        return self._content == "texts"

    def item(self, row: Row) -> Example | Sentence:
        finder = self.of(row.names)
        if not self._has_columns:
            self.require(row.place, row.names)
        columns = finder.find(row.names)
        self.origin.row, self.origin.columns = row, columns
        return self._sentence(row, columns) if self.has_texts else self._example(row, columns)

    def items(self, rows: Iterable[Row | InputError], on_fault: OnFault) -> Iterator[Any]:
        """The items of the rows; malformed ones are left out."""
        for row in rows:
            try:
                if isinstance(row, InputError):
                    raise row
                item = self.item(row)
            except InputError as error:
                on_fault(error)
            else:
                yield item

    def _text(self, row: Row, columns: Columns, field: str) -> str:
        # Errors name the file's own column.
        name = columns.get(field) or self._columns.get(field, field)
        if type(value := row.values.get(name)) is str:
            return value
        return text_field(self._source, row.place, row.values, name)

    def _example(self, row: Row, columns: Columns) -> Example:
        source, place, values = self._source, row.place, row.values
        present = {
            field: value
            for field, name in columns.items()
            if _is_given(field, value := values.get(name))
        }
        context = self._text(row, columns, "context")
        answers = _answers(source, place, present, context)
        # Without a column for labels, a question is unlabelled, not impossible.
        is_labelled = any(field in columns for field in _LABELS)
        impossible = _flag(present.get("is_impossible", is_labelled and not answers))
        plausible = present.get("plausible_answers")
        return Example(
            id=str(present.get("id", row.number)),
            question=self._text(row, columns, "question"),
            context=context,
            answers=answers,
            is_impossible=flag_field(source, place, impossible, "is_impossible"),
            plausible_answers=spans(source, place, parse_list(plausible), context)
            if plausible is not None
            else (),
            title=str(present.get("title", "")),
            language=str(present.get("language", "")),
            question_language=str(present.get("question_language", "")),
            is_labelled=is_labelled,
        )

    def _sentence(self, row: Row, columns: Columns) -> Sentence:
        identity, label, second = (
            row.values.get(columns[field]) if field in columns else None
            for field in ("id", "label", "second")
        )
        return Sentence(
            id=str(row.number) if is_missing(identity) else str(identity),
            text=self._text(row, columns, "text"),
            label=label_text(self._source, row.place, label, columns.get("label", "label")),
            second=None if is_missing(second) else self._text(row, columns, "second"),
        )


def text_field(source: str | Path, place: str, record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    if not isinstance(value, str):
        fault = (
            f"{name!r} is missing" if is_missing(value) else f"{name!r} is {value!r:.40}, not text"
        )
        raise bad_input(source, place, fault, f"give every record a text {name!r}")
    return value


def flag_field(source: str | Path, place: str, value: Any, name: str) -> bool:
    if value in (0, 1):  # spreadsheets also write 0 and 1
        return bool(value)
    raise bad_input(source, place, f"{name!r} is {value!r:.40}", "write true or false")


def list_field(source: str | Path, place: str, record: Mapping[str, Any], name: str) -> list[Any]:
    value = record.get(name)
    if not isinstance(value, list):
        fault = f"{name!r} is missing" if value is None else f"{name!r} is not a list"
        raise bad_input(source, place, fault, f"add a list {name!r} (it may be empty)")
    return value


def is_missing(value: Any) -> bool:
    """None, or NaN: missing values in tables of pandas."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def offset(source: str | Path, place: str, value: Any) -> int:
    """A character offset. Not a bool and not 3.5: those would shift answers silently."""
    if type(value) is int:
        return value
    if is_missing(value):
        return NO_OFFSET
    if isinstance(value, float) and value.is_integer():  # missing values turn 3 into 3.0
        return int(value)
    fault = f"'answer_start' is {value!r:.40}, not a whole number"
    raise bad_input(source, place, fault, "give the answer's character offset in the context")


def spans(source: str | Path, place: str, values: Any, context: str) -> tuple[Span, ...]:
    """Answers as a list (SQuAD), in columns (Hugging Face datasets), or as texts."""
    if not values and isinstance(values, list):
        return ()
    if isinstance(values, Mapping):
        texts = list_field(source, place, values, "text")
        given = not is_missing(values.get("answer_start"))
        starts = list_field(source, place, values, "answer_start") if given else [None] * len(texts)
        if len(texts) != len(starts):
            fault = f"{len(texts)} answer texts but {len(starts)} starts"
            raise bad_input(source, place, fault, "give one start for every text")
        values = [{"text": t, "answer_start": s} for t, s in zip(texts, starts, strict=True)]
    if not isinstance(values, list):
        remedy = "give a list (it may be empty), or name the field of a single text 'answer'"
        raise bad_input(source, place, "'answers' is not a list", remedy)
    return tuple(
        [_span(source, place, number, value, context) for number, value in enumerate(values, 1)]
    )


def _span(source: str | Path, place: str, number: int, value: Any, context: str) -> Span:
    if isinstance(value, str):
        value = {"text": value}
    if not isinstance(value, Mapping):
        fault = f"answer {number} is {value!r:.40}"
        raise bad_input(source, place, fault, 'write {"text": ..., "answer_start": ...}')
    text, start = value.get("text"), value.get("answer_start")
    if type(text) is not str or type(start) is not int:  # rare
        where = f"{place}, answer {number}"
        text = text_field(source, where, value, "text")
        start = offset(source, where, start)
    return located(start, text, context)


def located(start: int, text: str, context: str) -> Span:
    """The answer; one without an offset is placed if it occurs exactly once."""
    return Span(only_place(context, text) if start == NO_OFFSET else start, text)


def question_record(example: Example) -> dict[str, Any]:
    """An example without its context, and the context's title and language."""
    qa: dict[str, Any] = {"id": example.id, "question": example.question}
    if example.is_labelled:
        qa["answers"] = span_records(example.answers)
        qa["is_impossible"] = example.is_impossible
    if example.plausible_answers:
        qa["plausible_answers"] = span_records(example.plausible_answers)
    if example.question_language:
        qa["question_language"] = example.question_language
    return qa


def span_records(answers: Iterable[Span]) -> list[dict[str, Any]]:
    return [{"text": answer.text, "answer_start": answer.start} for answer in answers]


_LABELS = ("answers", "answer", "is_impossible")
# Spreadsheets and Python capitalise these, unlike JSON.
_OTHER_CASES = {"true": True, "false": False, "nan": math.nan}


def row_record(item: Example | Sentence) -> dict[str, Any]:
    """The JSON object of a row."""
    if isinstance(item, Sentence):
        given = {"second": item.second, "label": item.label}
        row = {"id": item.id, "text": item.text}
        return row | {name: value for name, value in given.items() if value is not None}
    row = question_record(item) | {"context": item.context}
    given = {"title": item.title, "language": item.language}
    return row | {name: value for name, value in given.items() if value}


def _answers(
    source: str | Path, place: str, row: Mapping[str, Any], context: str
) -> tuple[Span, ...]:
    if "answers" in row:
        values = parse_list(row["answers"])
        if not isinstance(values, (list, Mapping)) and (text := _plain(row["answers"], context)):
            values = [{"text": text, "answer_start": _parse(row.get("answer_start"))}]
        listed = spans(source, place, values, context)
        if "answer" in row and row["answer"] not in [span.text for span in listed]:
            fault = "'answer' is not one of its 'answers'"
            raise bad_input(source, place, fault, "remove one of the two fields")
        return listed
    if "answer" not in row:
        return ()  # an offset next to a missing answer is a placeholder
    text = text_field(source, place, row, "answer")
    return (located(offset(source, place, _parse(row.get("answer_start"))), text, context),)


def _plain(value: Any, context: str) -> str:
    """A single answer given as text, or nothing: a damaged list is not found in the context."""
    texts = (text for text in (value, _parse(value)) if isinstance(text, str))
    return next((text for text in texts if occurrences(context, text.strip())), "")


def _parse(value: Any) -> Any:
    """CSV cells are text: lists, numbers and flags in them are written as JSON."""
    if not isinstance(value, str):
        return value
    if value.lower() in _OTHER_CASES:
        return _OTHER_CASES[value.lower()]
    try:
        return json.loads(value)
    except (RecursionError, ValueError):
        return value


def _flag(value: Any) -> Any:
    return {"yes": True, "no": False}.get(str(value).strip().lower(), _parse(value))


def parse_list(value: Any) -> Any:
    """Answers in a CSV cell: JSON, or as Python writes them, which is what pandas stores."""
    parsed = _parse(value)
    if isinstance(parsed, str) and parsed.lstrip()[:1] in ("[", "{"):
        try:
            return ast.literal_eval(parsed.strip())
        except (MemoryError, RecursionError, SyntaxError, TypeError, ValueError):
            return parsed
    return parsed


def _is_given(field: str, value: Any) -> bool:
    """Empty text is a missing value, as in CSV, except for an id."""
    return field == "id" if value == "" else not is_missing(value)


_WHOLE_NUMBER = re.compile(r"([+-]?\d+)\.0+")


def label_text(source: str | Path, place: str, value: Any, name: str) -> str | None:
    """A label as text; None if it is missing.

    A whole number is written without a fraction: missing values in a table turn 1 into 1.0.
    """
    if is_missing(value):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, (str, int, float)):
        remedy = "give each row one label, a number or a text"
        raise bad_input(source, place, f"{name!r} is {value!r:.40}", remedy)
    text = str(value).strip()
    whole = _WHOLE_NUMBER.fullmatch(text)
    return (whole[1] if whole else text) or None
