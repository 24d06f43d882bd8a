"""Which column of a flat file is which field: named by the user, by its own name, or guessed."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from readlet.errors import InputError, ReadletError, bad_input, input_error

FIELDS = (
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
)
# `{"context": "passage"}`: the file's column for our `context` is `passage`.
Columns = Mapping[str, str]
# Common names of a field, used if the file has no column of its own name, and only one of these.
_OTHER_NAMES = {
    "id": ("qid", "question_id"),
    "question": ("query", "question_text"),
    "context": ("passage", "paragraph", "text", "document"),
    "answer": ("answer_text",),
    "answer_start": ("start", "start_char", "answer_offset"),
    "is_impossible": ("impossible",),
    "language": ("lang",),
}
_KNOWN = {*FIELDS, *(name for names in _OTHER_NAMES.values() for name in names)}


class NoColumnError(InputError):
    """A field is missing: its column may have another name, which some commands accept."""

    without_option: InputError  # the same error for commands without --column


def no_column(source: str | Path, place: str, fault: str, field: str) -> NoColumnError:
    remedy = f"name the column with --column {field}=NAME (in experiments: data.columns)"
    error = input_error(NoColumnError, source, place, fault, remedy)
    command = f"readlet data convert {source} --column {field}=NAME --out OUT.jsonl"
    error.without_option = bad_input(source, place, fault, f"rename the columns: {command}")
    return error


class ColumnFinder:
    """Finds the columns of the fields in one source; rows may have different columns."""

    def __init__(self, source: str | Path, columns: Columns) -> None:
        self._source = source
        self._columns = columns
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
        """Columns for questions, contexts and all fields that the user has mapped must exist."""
        found = self.find(names)
        for field in dict.fromkeys(("question", "context", *self._columns)):
            if field not in found:
                name = self._columns.get(field, field)
                known = ", ".join(f"{name:.40}" for name in names[:12]) or "none"
                fault = f"no column {name!r} (it has {known})"
                raise no_column(self._source, place, fault, field)
        for name in found.values():
            if names.count(name) > 1:
                fault = f"{names.count(name)} columns are named {name!r}"
                raise bad_input(self._source, place, fault, "give each a unique name")
        return found

    def _resolve(self, names: tuple[str, ...]) -> Columns:
        # A column that the user names for one field is not another one, whatever its name.
        own = {field: field for field in FIELDS if field not in self._columns.values()}
        wanted = {**own, **self._columns}
        found = {field: wanted[field] for field in FIELDS if wanted.get(field) in names}
        used = {*found.values(), *self._columns.values()}
        spare = {_simple(name): name for name in names if name not in used}
        for field in FIELDS:
            if field in found or field in self._columns or not _may_be_guessed(field, found):
                continue
            common = (field, *_OTHER_NAMES.get(field, ()))
            if field == "answer" and "answer_start" in found:
                common = (*common, "text")  # next to a context and a start, as in flat SQuAD
            matching = [name for name in common if name in spare]
            if len(matching) == 1:
                found[field] = spare.pop(matching[0])
                self._report(field, found[field])
        return found

    def _report(self, field: str, name: str) -> None:
        if self._guessed.setdefault(field, name) == name:
            text = f"{self._source}: column {name!r:.40} is read as {field!r}"
            warnings.warn(text, stacklevel=2)


def known_names(names: Iterable[str], columns: Columns) -> int:
    """How many of the names are columns that can be read."""
    return sum(_simple(name) in _KNOWN or name in columns.values() for name in names)


def _may_be_guessed(field: str, found: Columns) -> bool:
    if field == "answer":
        return "answers" not in found
    if field == "answer_start":
        return "answer" in found
    return True


def _simple(name: str) -> str:
    return "_".join(name.lower().replace("-", " ").split())


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
    return columns
