"""The two kinds of rows, questions about a context and texts with labels, and their columns.

Which column of a flat file is which field: mapped by the user, named like the field, or guessed.

What a reader does with a malformed row: raise an error (the default), or collect and go on.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from readlet.errors import InputError, ReadletError, bad_input, input_error

Content = Literal["questions", "texts"]
"""What the rows of a file are: questions about a context, or texts with labels."""


@dataclass(frozen=True)
class Schema:
    """The fields of a kind of row, and their common names."""

    fields: tuple[str, ...]
    required: tuple[str, ...]
    # Used if the file has no column of the field's own name, and only one of these.
    other_names: Mapping[str, tuple[str, ...]]
    obvious: tuple[str, ...] = ()  # other names that need no warning


QUESTIONS = Schema(
    fields=(
        "id",
        "question",
        "context",
        "answers",
        "answer",
        "answer_start",
        "is_impossible",
        "plausible_answers",
        "title",
        "language",
        "question_language",
    ),
    required=("question", "context"),
    other_names={
        "id": ("qid", "question_id"),
        "question": ("query", "question_text"),
        "context": ("passage", "paragraph", "text", "document"),
        "answer": ("answer_text",),
        "answer_start": ("start", "start_char", "answer_offset"),
        "is_impossible": ("impossible",),
        "language": ("lang",),
    },
)
TEXTS = Schema(
    fields=("id", "text", "second", "label"),
    required=("text",),
    other_names={
        "id": ("idx", "index", "guid", "text_id", "sentence_id"),
        "text": (
            *("sentence", "review", "content", "comment", "tweet", "message", "document"),
            *("utterance", "headline", "query", "question", "body", "review_text", "text_a"),
            *("sentence1", "text1", "question1", "premise", "first"),
            "#1_string",
        ),
        "second": (
            *("second_text", "second_sentence", "sentence2", "text2", "question2", "text_b"),
            *("text_pair", "hypothesis", "#2_string"),
        ),
        "label": (
            *("class", "category", "sentiment", "score", "labels", "target", "rating", "stars"),
            *("intent", "topic", "polarity", "gold_label", "label_text", "quality"),
        ),
    },
    obvious=("sentence", "Quality", "#1 String", "#2 String"),
)
FIELDS = tuple(dict.fromkeys((*QUESTIONS.fields, *TEXTS.fields)))
_ASKING = {"question", *QUESTIONS.other_names["question"]}
_TEXT_NAMES = {"text", *TEXTS.other_names["text"]}
# Next to a question, these make a row one of question data, whatever else it has.
_OF_QUESTIONS = {
    *("context", "passage", "paragraph"),
    *("answers", "answer", "answer_text", "is_impossible", "impossible"),
}


def is_question_data(names: Iterable[str]) -> bool:
    """Whether rows with these columns have a question, and a context or an answer."""
    simple = {simple_name(name) for name in names}
    return bool(simple & _ASKING) and bool(simple & _OF_QUESTIONS)


def guessed_content(names: Sequence[str]) -> Content | None:
    """What rows with these columns are; None if the names do not say it.

    Texts need a column for labels here: without one, a text may be the context of a question.
    """
    simple = {simple_name(name) for name in names}
    if is_question_data(names):
        return "questions"
    if simple & _TEXT_NAMES and simple & {"label", *TEXTS.other_names["label"]}:
        return "texts"
    return "questions" if simple & (_ASKING | _OF_QUESTIONS) else None


def simple_name(name: str) -> str:
    return "_".join(name.lower().replace("-", " ").split())


# `{"context": "passage"}`: the file's column for our `context` is `passage`.
Columns = Mapping[str, str]


@dataclass(frozen=True)
class DataFormat:
    """What a data file does not tell by itself: its columns, encoding and content.

    >>> data_format = DataFormat({"context": "passage"}, encoding="cp1252")
    >>> data_format == DataFormat.parse(["context=passage"], "cp1252")
    True
    """

    columns: Columns = field(default_factory=dict)
    encoding: str = ""
    """Empty: UTF-8, or UTF-16 with a byte order mark."""
    content: Content | None = None
    """What its rows are; by default the names of their columns decide."""

    @classmethod
    def parse(cls, columns: Iterable[str], encoding: str = "") -> "DataFormat":
        """From options: `--column context=passage --encoding cp1252`."""
        return cls(parse_columns(columns), encoding)


PLAIN = DataFormat()


class NoColumnError(InputError):
    """A field is missing: its column may have another name."""


class ColumnFinder:
    """Finds the columns of the fields in one source; rows may have different columns."""

    def __init__(self, source: str | Path, columns: Columns, schema: Schema) -> None:
        self._source = source
        self._columns = columns
        self._schema = schema
        self._found: dict[tuple[str, ...], Columns] = {}
        self._guessed: dict[str, str] = {}

    def find(self, names: Sequence[str]) -> Columns:
        """The column of each field that has one."""
        key = tuple(names)
        if key not in self._found:
            self._found[key] = self._resolve(key)
        return self._found[key]

    def require(self, place: str, names: Sequence[str]) -> Columns:
        """The required columns, and those of all fields that the user has mapped, must exist."""
        found = self.find(names)
        for wanted in dict.fromkeys((*self._schema.required, *self._columns)):
            if wanted not in found:
                name = self._columns.get(wanted, wanted)
                known = ", ".join(f"{name:.40}" for name in names[:12]) or "none"
                fault = f"no column {name!r} (it has {known})"
                remedy = f"name it with --column {wanted}=NAME (in recipes: data.columns)"
                if wanted == "question":  # perhaps it is not question data
                    remedy += "; for texts with labels: --column text=NAME"
                raise input_error(NoColumnError, self._source, place, fault, remedy)
        for name in found.values():
            if names.count(name) > 1:
                fault = f"{names.count(name)} columns are named {name!r}"
                raise bad_input(self._source, place, fault, "give each a unique name")
        return found

    def _resolve(self, names: tuple[str, ...]) -> Columns:
        # A column that the user names for one field is not another one, whatever its name.
        fields = self._schema.fields
        own = {field: field for field in fields if field not in self._columns.values()}
        wanted = {**own, **self._columns}
        found = {field: wanted[field] for field in fields if wanted.get(field) in names}
        used = {*found.values(), *self._columns.values()}
        spare = {simple_name(name): name for name in names if name not in used}
        for target in fields:
            if target in found or target in self._columns or not _may_be_guessed(target, found):
                continue
            common = (target, *self._schema.other_names.get(target, ()))
            if target == "answer" and "answer_start" in found:
                common = (*common, "text")  # next to a context and a start, as in flat SQuAD
            matching = [name for name in common if name in spare]
            if len(matching) == 1:
                found[target] = spare.pop(matching[0])
                self._report(target, found[target])
        return found

    def _report(self, field: str, name: str) -> None:
        if self._guessed.setdefault(field, name) == name and name not in self._schema.obvious:
            text = f"{self._source}: column {name!r:.40} is read as {field!r}"
            warnings.warn(text, stacklevel=2)


def _may_be_guessed(field: str, found: Columns) -> bool:
    if field == "answer":
        return "answers" not in found
    if field == "answer_start":
        return "answer" in found
    if field == "second":
        return "text" in found
    return True


def content_of_columns(columns: Columns) -> Content | None:
    """What the user's column names imply for the rows; None if nothing."""
    of_texts = [field for field in columns if field not in QUESTIONS.fields]
    of_questions = [field for field in columns if field not in TEXTS.fields]
    if of_texts and of_questions:
        fault = f"--column: {of_questions[0]!r} is a field of questions, {of_texts[0]!r} of texts"
        raise ReadletError(f"{fault} with labels; name columns of one kind")
    if of_texts:
        return "texts"
    return "questions" if of_questions else None


def parse_columns(pairs: Iterable[str]) -> dict[str, str]:
    """Parse `context=passage` from the command line."""
    columns: dict[str, str] = {}
    for pair in pairs:
        field, _, name = pair.partition("=")
        if field not in FIELDS or not name:
            known = ", ".join(FIELDS)
            raise ReadletError(f"--column {pair}: write FIELD=NAME, with FIELD one of {known}")
        if field in columns:
            raise ReadletError(f"--column {pair}: {field!r} is given twice; name one column")
        columns[field] = name
    content_of_columns(columns)  # fields of one kind
    return columns


OnFault = Callable[[InputError], None]
"""Called with each malformed row. If it returns, the row is left out and reading continues."""


def raise_fault(error: InputError) -> None:
    """Stop at the first malformed row, and say how all of them are listed."""
    if type(error) is not InputError:
        raise error
    remedy = f"{error.remedy} (`readlet data check {error.source}` lists all malformed rows)"
    raise bad_input(error.source, error.place, error.fault, remedy)
