"""Which column of a flat file is which field: named by the user, by its own name, or guessed."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from readlet.errors import InputError, ReadletError, bad_input, input_error
from readlet.formats.schemas import (
    FIELDS,
    KNOWN_NAMES,
    QUESTIONS,
    TEXTS,
    Content,
    Schema,
    simple_name,
)

# `{"context": "passage"}`: the file's column for our `context` is `passage`.
Columns = Mapping[str, str]


@dataclass(frozen=True)
class DataFormat:
    """What the user says of a data file, because the file itself does not."""

    columns: Columns = field(default_factory=dict)
    encoding: str = ""
    """Empty: UTF-8, or UTF-16 with a byte order mark."""
    content: Content | None = None
    """What its rows are; by default the names of their columns decide."""

    @classmethod
    def parse(cls, columns: Iterable[str], encoding: str = "") -> "DataFormat":
        """Of options: `--column context=passage --encoding cp1252`."""
        return cls(parse_columns(columns), encoding)


PLAIN = DataFormat()


class NoColumnError(InputError):
    """A field is missing: its column may have another name, which some commands accept."""

    without_option: InputError  # the same error for commands without --column


def no_column(source: str | Path, place: str, fault: str, field: str) -> NoColumnError:
    remedy = f"name the column with --column {field}=NAME (in experiments: data.columns)"
    if field == "question":  # perhaps it is no question data
        remedy += "; for texts with labels: --column text=NAME"
    error = input_error(NoColumnError, source, place, fault, remedy)
    command = f"readlet data convert {source} --column {field}=NAME --out OUT.jsonl"
    error.without_option = bad_input(source, place, fault, f"rename the columns: {command}")
    return error


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
            if len(self._found) > 1000:  # every row has other names
                self._found.clear()
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
                raise no_column(self._source, place, fault, wanted)
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
        if not {"text", "second"} & {*found, *self._columns}:
            for pair in self._schema.pairs:
                if all(name in spare for name in pair):
                    for field, name in zip(("text", "second"), pair, strict=True):
                        found[field] = spare.pop(name)
                        self._report(field, found[field])
                    break
        for field in fields:
            if field in found or field in self._columns or not _may_be_guessed(field, found):
                continue
            common = (field, *self._schema.other_names.get(field, ()))
            if field == "answer" and "answer_start" in found:
                common = (*common, "text")  # next to a context and a start, as in flat SQuAD
            matching = [name for name in common if name in spare]
            if len(matching) == 1:
                found[field] = spare.pop(matching[0])
                self._report(field, found[field])
        return found

    def _report(self, field: str, name: str) -> None:
        if self._guessed.setdefault(field, name) == name and name not in self._schema.obvious:
            text = f"{self._source}: column {name!r:.40} is read as {field!r}"
            warnings.warn(text, stacklevel=2)


def known_names(names: Iterable[str], columns: Columns) -> int:
    """How many of the names are columns that can be read."""
    return sum(simple_name(name) in KNOWN_NAMES or name in columns.values() for name in names)


def _may_be_guessed(field: str, found: Columns) -> bool:
    if field == "answer":
        return "answers" not in found
    if field == "answer_start":
        return "answer" in found
    if field == "second":
        return "text" in found
    return True


def content_of_columns(columns: Columns) -> Content | None:
    """What the user's names of columns say of the rows; None if they say nothing."""
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
