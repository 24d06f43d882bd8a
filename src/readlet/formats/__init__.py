"""Files to Examples and back. `read` detects the format by content, never by file name."""

import codecs
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from readlet.bundled import SPLITS, corpus
from readlet.errors import EncodingError, ReadletError, bad_input, input_error
from readlet.formats.columns import Columns, NoColumnError
from readlet.formats.csv_files import read_csv, write_csv, write_tsv
from readlet.formats.detect import Kind, detect, head_of
from readlet.formats.glue import Task, glue_task, read_glue
from readlet.formats.hub import PREFIX, read_hub
from readlet.formats.json_files import read_json
from readlet.formats.jsonl import read_jsonl, write_jsonl
from readlet.formats.malformed import OnFault, raise_fault
from readlet.formats.other_fields import lost_from_jsonl, lost_from_squad
from readlet.formats.parquet_files import read_parquet, require_pyarrow, write_parquet
from readlet.formats.places import nearest_place, occurrences
from readlet.formats.squad import write_squad
from readlet.storage.files import atomic_text
from readlet.storage.outputs import ANOTHER_FILE, check_file
from readlet.types import NO_OFFSET, Example, Sentence, Span

__all__ = [
    "OUTPUT_NAMES",
    "check_target",
    "has_columns",
    "input_path",
    "is_file_name",
    "is_output",
    "lost_by_writing",
    "nearest_place",
    "occurrences",
    "output_kind",
    "own_suffix",
    "read",
    "read_examples",
    "read_questions",
    "read_sentences",
    "source_path",
    "task_of",
    "warn_of_repeated_ids",
    "with_own_ids",
    "write_examples",
]

_BUNDLED = "bundled:"
_NO_COLUMNS: Columns = {}
_TEXT_WRITERS: dict[str, Callable[[TextIO, Iterable[Example]], None]] = {
    "json": write_squad,
    "jsonl": write_jsonl,
    "csv": write_csv,
    "tsv": write_tsv,
}
OUTPUT_NAMES = ".json, .jsonl, .csv, .tsv (also .gz) or .parquet"
"""How the name of an output ends."""


def read(
    source: str | Path,
    columns: Columns = _NO_COLUMNS,
    *,
    encoding: str = "",
    on_fault: OnFault = raise_fault,
) -> Iterator[Example | Sentence]:
    """Stream the items of the source unchanged: nothing is repaired or dropped.

    With `on_fault`, malformed rows are passed to it and left out; without, the first one raises an
    error. The encoding is found by a byte order mark, else it is the given one, else UTF-8.
    """
    if str(source).startswith(PREFIX):
        yield from read_hub(str(source), columns, on_fault=on_fault)
        return
    path = source_path(source)
    encoding = _encoding_of(path, encoding)
    kind = detect(path, columns, encoding)
    if kind == "parquet":
        if encoding:
            raise bad_input(path, "", "Parquet has no text encoding", "omit --encoding")
        yield from read_parquet(path, columns, on_fault=on_fault)
    elif kind == "json":
        yield from read_json(path, columns, encoding=encoding, on_fault=on_fault)
    elif kind == "array":
        yield from read_json(path, columns, key="", encoding=encoding, on_fault=on_fault)
    elif kind == "jsonl":
        yield from read_jsonl(path, columns, encoding=encoding, on_fault=on_fault)
    elif kind == "csv":
        yield from read_csv(path, columns, encoding=encoding, on_fault=on_fault)
    else:
        if columns:
            raise bad_input(path, "", "this format has no named columns", "omit --column")
        yield from read_glue(path, kind, encoding=encoding, on_fault=on_fault)


def has_columns(source: str | Path, encoding: str = "") -> bool:
    """Whether the fields of the source may have other names; articles of SQuAD have fixed ones."""
    if str(source).startswith(PREFIX):
        return True
    path = source_path(source)
    encoding = _encoding_of(path, encoding)
    kind: Kind = detect(path, _NO_COLUMNS, encoding)
    if kind in ("json", "array"):
        return re.search(r'"paragraphs"\s*:', head_of(path, encoding)) is None
    return kind in ("parquet", "jsonl", "csv")


def _encoding_of(path: Path, encoding: str) -> str:
    """The given encoding; the bundled corpus keeps its own."""
    return "" if path in map(corpus, SPLITS) else encoding


def source_path(source: str | Path) -> Path:
    """The file that a source names; `bundled:test` is a split of the bundled corpus."""
    name = str(source)
    return corpus(name.removeprefix(_BUNDLED)) if name.startswith(_BUNDLED) else Path(source)


def input_path(source: str) -> Path:
    """The file or folder that a source is read from; one on the hub does not exist here."""
    if not source.startswith(PREFIX):
        return source_path(source)
    return Path(source.removeprefix(PREFIX).rpartition("@")[0] or source.removeprefix(PREFIX))


def training_file(source: str) -> Path:
    """The file that a source names. Training needs files: it identifies data by their bytes."""
    if source.startswith(PREFIX):
        remedy = f"convert it first: readlet data convert {source} --out train.jsonl"
        raise bad_input(source, "", "training needs a file", remedy)
    return source_path(source)


def read_examples(
    source: str | Path, columns: Columns | None = None, *, encoding: str = ""
) -> Iterator[Example]:
    """Stream validated questions: every answer is at its offset (law 1).

    A question has text, and either has answers or is marked impossible. Anything else raises an
    error.

    Omit `columns` where the user can name neither columns nor an encoding: errors about them then
    suggest another remedy.
    """
    for number, item in enumerate(_read_named(source, columns, encoding)):
        if not isinstance(item, Example):
            raise bad_input(source, "", "contains sentences, not questions", "give question data")
        for field, text in (("question", item.question), ("context", item.context)):
            if not text.strip():
                place = f"question {item.id!r}"
                raise bad_input(source, place, f"the {field} has no text", _fix_remedy(source))
        if not item.answers and not item.is_impossible:
            if not item.is_labelled and not number:
                _require_labels(source, columns, encoding)
            what = "" if item.is_labelled else "is unlabelled: it "
            fault = f"{what}has no answer and is not marked impossible"
            remedy = "add its answers, or set is_impossible to true"
            raise bad_input(source, f"question {item.id!r}", fault, remedy)
        if item.answers and item.is_impossible:
            fault = "is marked impossible but has answers"
            raise bad_input(source, f"question {item.id!r}", fault, _fix_remedy(source))
        for answer in item.answers:
            if not answer.is_in(item.context):
                raise _misplaced(source, item, answer)
        yield item


def read_questions(
    *sources: str | Path, columns: Columns | None = None, encoding: str = ""
) -> list[Example]:
    """The questions of all sources with unique ids, since answers are stored by id.

    Ids may repeat: rows without ids are numbered per file, and translations keep their ids.
    `columns` apply to the sources that have named columns.
    """
    examples = [
        example
        for source in sources
        for example in read_examples(
            source,
            columns if columns is None or has_columns(source, encoding) else _NO_COLUMNS,
            encoding=encoding,
        )
    ]
    warn_of_repeated_ids(examples, "a number is appended")
    return with_own_ids(examples)


def with_own_ids(examples: Sequence[Example]) -> list[Example]:
    """The same examples with unique ids: a number is appended to repeated ones."""
    # Not `free_id`, which always counts from 2: all ids of a large file may be the same.
    taken, first, numbers = {e.id for e in examples}, set[str](), Counter[str]()
    numbered = list(examples)
    for place, example in enumerate(examples):
        if example.id not in first:
            first.add(example.id)
            continue
        while (identity := f"{example.id}-{numbers[example.id] + 2}") in taken:
            numbers[example.id] += 1
        taken.add(identity)
        numbered[place] = replace(example, id=identity)
    return numbered


def warn_of_repeated_ids(examples: Sequence[Example], consequence: str) -> None:
    if repeated := len(examples) - len({example.id for example in examples}):
        warnings.warn(f"{repeated:,} × repeated id: {consequence}", stacklevel=3)


def _read_named(
    source: str | Path, columns: Columns | None, encoding: str
) -> Iterator[Example | Sentence]:
    try:
        yield from read(source, columns or _NO_COLUMNS, encoding=encoding)
    except NoColumnError as error:
        raise (error if columns is not None else error.without_option) from None
    except EncodingError as error:
        if columns is not None:
            raise
        command = f"readlet data convert {source} --encoding NAME --out OUT.jsonl"
        remedy = f"save it as UTF-8: {command}"
        raise input_error(EncodingError, source, error.place, error.fault, remedy) from None


def _require_labels(source: str | Path, columns: Columns | None, encoding: str) -> None:
    """Raise an error that lists the columns, if one of them may be that of the answers."""
    if not has_columns(source, encoding):
        return
    try:
        next(read(source, {"answer": "answer", **(columns or {})}, encoding=encoding))
    except NoColumnError as error:
        remedy = (error if columns is not None else error.without_option).remedy
        fault = f"its questions are unlabelled: {error.fault}"
        raise bad_input(source, "", fault, f"add the answers, or {remedy}") from None


def read_sentences(source: str | Path, *, encoding: str = "") -> Iterator[Sentence]:
    for item in read(source, encoding=encoding):
        if not isinstance(item, Sentence):
            raise bad_input(source, "", "contains questions, not sentences", "give a GLUE file")
        yield item


def task_of(source: str | Path, *, encoding: str = "") -> Task | None:
    """The GLUE task of the file, or None for question data."""
    if str(source).startswith(PREFIX):
        return None
    path = source_path(source)
    return glue_task(head_of(path, _encoding_of(path, encoding)).split("\n", 1)[0])


def write_examples(path: Path, examples: Iterable[Example]) -> None:
    """SQuAD JSON for `.json`, rows for `.jsonl`, `.csv`, `.tsv`, `.parquet`; written atomically.

    Names of text files may end in `.gz`.
    """
    if output_kind(path) == "parquet":
        write_parquet(path, examples)
        return
    with atomic_text(path) as stream:
        _TEXT_WRITERS[output_kind(path)](stream, examples)


def check_target(
    path: Path, sources: Iterable[str], *, overwrite: bool, remedy: str = ANOTHER_FILE
) -> None:
    """Check that examples from these sources can be written there; call it before long work.

    `remedy` is for a file that is one of the sources.
    """
    if output_kind(path) == "parquet":
        require_pyarrow(path)
    inputs = [input_path(source) for source in sources]
    check_file(path, inputs, overwrite=overwrite, remedy=remedy)


def is_file_name(source: str) -> bool:
    """Whether a source is a file of the user, and neither on the hub nor bundled."""
    return not source.startswith((PREFIX, _BUNDLED))


def own_suffix(path: Path, columns: Columns, encoding: str) -> str | None:
    """The end of a name with which `write_examples` keeps the structure of a file.

    None for tables, whose other columns would be lost, and for other encodings than UTF-8.
    """
    kind = detect(path, columns, encoding)
    with path.open("rb") as raw:
        first = raw.read(2)
    is_squad = kind == "json" and not has_columns(path)
    is_other = bool(encoding) and codecs.lookup(encoding).name != "utf-8"
    if (kind != "jsonl" and not is_squad) or is_other or first in (b"\xff\xfe", b"\xfe\xff"):
        return None
    zipped = ".gz" if first == b"\x1f\x8b" else ""
    return f".{kind}{zipped}"


def lost_by_writing(path: Path) -> str:
    """What a file with an `own_suffix` has that writing its Examples would lose, in words."""
    is_jsonl = detect(path, _NO_COLUMNS, "") == "jsonl"
    return lost_from_jsonl(path) if is_jsonl else lost_from_squad(path)


def is_output(path: Path) -> bool:
    """Whether the name says a format that can be written."""
    return path.suffix.lower() == ".parquet" or _text_kind(path) in _TEXT_WRITERS


def output_kind(path: Path) -> str:
    """The format of an output, by its name."""
    if not is_output(path):
        raise bad_input(path, "", "unknown output format", f"end the name in {OUTPUT_NAMES}")
    return "parquet" if path.suffix.lower() == ".parquet" else _text_kind(path)


def _text_kind(path: Path) -> str:
    _, dot, kind = path.name.lower().removesuffix(".gz").rpartition(".")
    return kind if dot else ""


def _misplaced(source: str | Path, example: Example, answer: Span) -> ReadletError:
    shown, found = f"{answer.text!r:.60}", occurrences(example.context, answer.text)
    near = nearest_place(example.context, answer)
    if near is None:
        where = "is not in the context"
    elif near.text != answer.text:
        where = f"is spelled {near.text!r:.60} in the context"
    elif answer.start == NO_OFFSET and len(found) == 1:
        where = f"has no offset and occurs only inside of a word, at {near.start}"
    elif answer.start == NO_OFFSET:
        where = f"has no offset and occurs {len(found)} times in the context"
    else:
        where = f"is not at {answer.start} (nearest at {near.start})"
    fault = f"answer {shown} {where}"
    return bad_input(source, f"question {example.id!r}", fault, _fix_remedy(source))


def _fix_remedy(source: str | Path) -> str:
    return f"repair it with `readlet data check {source} --fix OUT`"
