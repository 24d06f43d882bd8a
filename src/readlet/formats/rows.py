"""What the rows of a flat file are: questions, or texts with labels."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from readlet.errors import bad_input
from readlet.formats.columns import DataFormat, content_of_columns
from readlet.formats.question_rows import QuestionRows
from readlet.formats.schemas import guessed_content, is_question_data
from readlet.formats.text_rows import TextRows
from readlet.types import Example, Sentence


class RowReader:
    """Converts the rows of one source to examples or sentences.

    Which of them is decided by `content`, else by the columns that the user named, else by the
    first row with names of either kind.
    """

    def __init__(self, source: str | Path, data_format: DataFormat) -> None:
        columns, content = data_format.columns, data_format.content
        named = content_of_columns(columns)
        if content is not None and named not in (None, content):
            fault = f"--column names a field of {named}, but {content} are wanted"
            raise bad_input(source, "", fault, "omit --column, or name other fields")
        self._source = source
        self._is_checked = content != "texts" or named == "texts"
        self._content = content or named
        self._columns = columns
        self._rows: QuestionRows | TextRows | None = None

    def of(self, names: Sequence[str]) -> QuestionRows | TextRows:
        """The reader of rows with these columns."""
        if not self._is_checked and is_question_data(names):
            fault = "contains questions, not texts with labels"
            remedy = "give such texts, or name their columns with --column text=NAME"
            raise bad_input(self._source, "", fault, remedy)
        self._is_checked = True
        content = self._content or guessed_content(names)
        if content != self._content or self._rows is None:
            self._rows = (TextRows if content == "texts" else QuestionRows)(
                self._source, self._columns
            )
        self._content = content
        return self._rows

    def is_row(self, item: Any) -> bool:
        """Whether an item of a JSON list is a row, not an article of SQuAD."""
        if not isinstance(item, dict) or "paragraphs" in item:
            return False
        return self.of(list(item)).has_text(list(item))

    def item(
        self, place: str, number: int, row: Mapping[str, Any], names: Sequence[str]
    ) -> Example | Sentence:
        """What is in a row; `names` are its columns, `number` is its id if it has none."""
        return self.of(names).item(place, number, row, names)
