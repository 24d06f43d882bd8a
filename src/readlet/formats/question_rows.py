"""Rows of questions: a JSON object, or a line of a table with named columns.

A row whose field for answers (`answers`, `answer` or `is_impossible`) is empty is an impossible
question; a row without such a field is unlabelled. A JSON object has the fields that it names, a
row of the other formats has all columns. So no row depends on another one.
"""

import ast
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from readlet.errors import bad_input
from readlet.formats.columns import ColumnFinder, Columns
from readlet.formats.fields import (
    flag_field,
    is_missing,
    located,
    offset,
    question_record,
    spans,
    text_field,
)
from readlet.formats.places import occurrences
from readlet.formats.schemas import QUESTIONS
from readlet.types import NO_OFFSET, Example, Span

_LABELS = ("answers", "answer", "is_impossible")
# Spreadsheets and Python write these in other cases than JSON.
_OTHER_CASES = {"true": True, "false": False, "nan": math.nan}
# Fields that may be empty text; in all others, empty text is a missing value, as in CSV.
_MAY_BE_EMPTY = ("id", "question", "context")


class QuestionRows:
    """Converts the rows of one source to examples."""

    texts = ("question", "context")  # fields that have a text in every row, if an empty one

    def __init__(self, source: str | Path, columns: Columns) -> None:
        self._source = source
        self._columns = columns
        self._finder = ColumnFinder(source, columns, QUESTIONS)
        self._is_first = True

    def require(self, place: str, names: Sequence[str]) -> Columns:
        """The columns of a table, checked once, before its rows."""
        self._is_first = False
        return self._finder.require(place, names)

    def has_text(self, names: Sequence[str]) -> bool:
        """Whether a row with these columns has a question or a context."""
        found = self._finder.find(names)
        return "question" in found or "context" in found

    def item(
        self, place: str, number: int, row: Mapping[str, Any], names: Sequence[str]
    ) -> Example:
        """The example in a row; `names` are its columns, `number` is its id if it has none."""
        source = self._source
        if self._is_first:
            self.require(place, names)
        columns = self._finder.find(names)
        present = {
            field: value
            for field, name in columns.items()
            if _is_given(field, value := row.get(name))
        }
        if "answer_start" in present and not present.keys() & {"answer", "answers"}:
            start = _parse(present["answer_start"])
            if start in (0, NO_OFFSET) or is_missing(start):
                del present["answer_start"]  # a placeholder next to a missing answer

        def text(field: str) -> str:
            if type(value := present.get(field)) is str:
                return value
            # Errors name the file's own column.
            name = columns.get(field) or self._columns.get(field, field)
            return text_field(source, place, {name: value}, name)

        context = text("context")
        answers = _answers(source, place, present, context)
        # Without a column for labels, a question is unlabelled, not impossible.
        is_labelled = any(field in columns for field in _LABELS)
        impossible = _flag(present.get("is_impossible", is_labelled and not answers))
        plausible = present.get("plausible_answers")
        return Example(
            id=str(present.get("id", number)),
            question=text("question"),
            context=context,
            answers=answers,
            is_impossible=flag_field(source, place, impossible, "is_impossible"),
            plausible_answers=spans(source, place, _parse_list(plausible), context)
            if plausible is not None
            else (),
            title=str(present.get("title", "")),
            language=str(present.get("language", "")),
            question_language=str(present.get("question_language", "")),
            is_labelled=is_labelled,
        )


def row_record(example: Example) -> dict[str, Any]:
    """The JSON object of a row."""
    row = question_record(example) | {"context": example.context}
    if example.title:
        row["title"] = example.title
    if example.language:
        row["language"] = example.language
    return row


def _answers(
    source: str | Path, place: str, row: Mapping[str, Any], context: str
) -> tuple[Span, ...]:
    if "answers" in row:
        values = _parse_list(row["answers"])
        if not isinstance(values, (list, Mapping)) and (text := _plain(row["answers"], context)):
            values = [{"text": text, "answer_start": _parse(row.get("answer_start"))}]
        listed = spans(source, place, values, context)
        if "answer" in row and row["answer"] not in [span.text for span in listed]:
            fault = "'answer' is not one of its 'answers'"
            raise bad_input(source, place, fault, "remove one of the two fields")
        return listed
    if "answer" not in row:
        if "answer_start" in row:
            fault = "'answer_start' without 'answer'"
            raise bad_input(source, place, fault, "give both, or neither")
        return ()
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


def _parse_list(value: Any) -> Any:
    """Answers in a CSV cell: JSON, or as Python writes them, which is what pandas stores."""
    parsed = _parse(value)
    if isinstance(parsed, str) and parsed.lstrip()[:1] in ("[", "{"):
        try:
            return ast.literal_eval(parsed.strip())
        except (MemoryError, RecursionError, SyntaxError, TypeError, ValueError):
            return parsed
    return parsed


def _is_given(field: str, value: Any) -> bool:
    if value == "":
        return field in _MAY_BE_EMPTY
    return not is_missing(value)
