"""Rows of texts with labels: a JSON object, or a line of a table with named columns.

A label is a number or a word, and is kept as text. A row without one is unlabelled.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from readlet.errors import bad_input
from readlet.formats.columns import ColumnFinder, Columns
from readlet.formats.fields import is_missing, text_field
from readlet.formats.schemas import TEXTS
from readlet.types import Sentence

_WHOLE_NUMBER = re.compile(r"([+-]?\d+)\.0+")


class TextRows:
    """Converts the rows of one source to sentences."""

    texts = ("text", "second")  # fields that have a text in every row, if an empty one

    def __init__(self, source: str | Path, columns: Columns) -> None:
        self._source = source
        self._columns = columns
        self._finder = ColumnFinder(source, columns, TEXTS)
        self._is_first = True

    def require(self, place: str, names: Sequence[str]) -> Columns:
        """The columns of a table, checked once, before its rows."""
        self._is_first = False
        return self._finder.require(place, names)

    def has_text(self, names: Sequence[str]) -> bool:
        """Whether a row with these columns has a text."""
        return "text" in self._finder.find(names)

    def item(
        self, place: str, number: int, row: Mapping[str, Any], names: Sequence[str]
    ) -> Sentence:
        """The sentence in a row; `names` are its columns, `number` is its id if it has none."""
        if self._is_first:
            self.require(place, names)
        columns = self._finder.find(names)

        def text(field: str) -> str:
            # Errors name the file's own column.
            name = columns.get(field) or self._columns.get(field, field)
            return text_field(self._source, place, row, name)

        def value(field: str) -> Any:
            return row.get(columns[field]) if field in columns else None

        identity, label = value("id"), value("label")
        return Sentence(
            id=str(number) if is_missing(identity) else str(identity),
            text=text("text"),
            label=label_text(self._source, place, label, columns.get("label", "label")),
            second=None if is_missing(value("second")) else text("second"),
        )


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


def text_record(sentence: Sentence) -> dict[str, str]:
    """The JSON object of a row."""
    row = {"id": sentence.id, "text": sentence.text}
    if sentence.second is not None:
        row["second"] = sentence.second
    if sentence.label is not None:
        row["label"] = sentence.label
    return row
