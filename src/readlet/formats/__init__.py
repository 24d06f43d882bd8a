"""Files to Examples and back. `read` detects the format by content, never by file name."""

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from readlet.bundled import corpus
from readlet.errors import ReadletError, bad_input
from readlet.formats.glue import Task, glue_task, read_glue
from readlet.formats.hub import PREFIX, read_hub
from readlet.formats.places import nearest_place
from readlet.formats.rows import (
    Columns,
    NoColumnError,
    read_csv,
    read_jsonl,
    read_parquet,
    write_jsonl,
)
from readlet.formats.squad import read_squad, write_squad
from readlet.storage.files import atomic_text, open_bytes, text_chunks
from readlet.storage.outputs import ANOTHER_FILE, check_file
from readlet.types import Example, Sentence, Span

__all__ = [
    "can_write",
    "check_target",
    "file_suffix",
    "is_file_name",
    "nearest_place",
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

# A string (with a colon after it if it is a key) or a bracket.
_JSON_PIECE = re.compile(r'"((?:[^"\\]|\\.)*)"(\s*:)?|[{}\[\]]')
_BUNDLED = "bundled:"
_NO_COLUMNS: Columns = {}
_WRITERS = {"json": write_squad, "jsonl": write_jsonl}


def read(source: str | Path, columns: Columns = _NO_COLUMNS) -> Iterator[Example | Sentence]:
    """Stream the items of the source unchanged: nothing is repaired or dropped."""
    if str(source).startswith(PREFIX):
        yield from read_hub(str(source), columns)
        return
    path = source_path(source)
    if _is_parquet(path):
        yield from read_parquet(path, columns)
        return
    head = next(text_chunks(path))
    task = glue_task(head.split("\n", 1)[0])
    is_squad = head.lstrip().startswith("{") and _is_squad(head, columns)
    if columns and (is_squad or task):
        raise bad_input(path, "", "this format has no named columns", "omit --column")
    if is_squad:
        yield from read_squad(path)
    elif head.lstrip().startswith("{"):
        yield from read_jsonl(path, columns)
    elif task:
        yield from read_glue(path, task)
    elif re.search(r"[,\t]", head.split("\n", 1)[0]) and not head.lstrip().startswith("["):
        yield from read_csv(path, columns)
    else:
        fault = f"starts with {head.strip()[:20]!r}: unknown format"
        remedy = "give SQuAD JSON, JSONL, CSV, Parquet or a GLUE file"
        raise bad_input(path, "", fault, remedy)


def source_path(source: str | Path) -> Path:
    """The file that a source names; `bundled:test` is a split of the bundled corpus."""
    name = str(source)
    return corpus(name.removeprefix(_BUNDLED)) if name.startswith(_BUNDLED) else Path(source)


def training_file(source: str) -> Path:
    """The file that a source names. Training needs files: it identifies data by their bytes."""
    if source.startswith(PREFIX):
        remedy = f"convert it first: readlet data check {source} --fix train.jsonl"
        raise bad_input(source, "", "training needs a file", remedy)
    return source_path(source)


def read_examples(source: str | Path, columns: Columns | None = None) -> Iterator[Example]:
    """Stream validated questions: every answer is at its offset (law 1).

    A question either has answers or is marked impossible. Anything else raises an error.

    Omit `columns` where the user cannot name columns: the error about a missing column then
    suggests another remedy.
    """
    for item in _read_named(source) if columns is None else read(source, columns):
        if not isinstance(item, Example):
            raise bad_input(source, "", "contains sentences, not questions", "give question data")
        if not item.answers and not item.is_impossible:
            fault = "has no answer and is not marked impossible"
            remedy = "add its answers, or set is_impossible to true"
            raise bad_input(source, f"question {item.id!r}", fault, remedy)
        if item.answers and item.is_impossible:
            fault = "is marked impossible but has answers"
            raise bad_input(source, f"question {item.id!r}", fault, _fix_remedy(source))
        for answer in item.answers:
            if not answer.is_in(item.context):
                raise _misplaced(source, item, answer)
        yield item


def read_questions(*sources: str | Path) -> list[Example]:
    """The questions of all sources with unique ids, since answers are stored by id.

    Ids may repeat: rows without ids are numbered per file, and translations keep their ids.
    """
    examples = [example for source in sources for example in read_examples(source)]
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


def _read_named(source: str | Path) -> Iterator[Example | Sentence]:
    try:
        yield from read(source)
    except NoColumnError as error:
        raise error.without_option from None


def read_sentences(source: str | Path) -> Iterator[Sentence]:
    for item in read(source):
        if not isinstance(item, Sentence):
            raise bad_input(source, "", "contains questions, not sentences", "give a GLUE file")
        yield item


def task_of(source: str | Path) -> Task | None:
    """The GLUE task of the file, or None for question data."""
    if str(source).startswith(PREFIX):
        return None
    path = source_path(source)
    if _is_parquet(path):
        return None
    return glue_task(next(text_chunks(path)).split("\n", 1)[0])


def write_examples(path: Path, examples: Iterable[Example]) -> None:
    """SQuAD JSON for `.json`, rows for `.jsonl`, each also with `.gz`; written atomically."""
    write = _writer(path)
    with atomic_text(path) as stream:
        write(stream, examples)


def check_target(path: Path, sources: Iterable[str], *, remedy: str = ANOTHER_FILE) -> None:
    """Check that examples from these sources can be written there; call it before long work.

    `remedy` is for a file that is one of the sources.
    """
    _writer(path)
    check_file(path, map(source_path, sources), remedy=remedy)


def can_write(suffix: str) -> bool:
    """Whether examples can be written to a file whose name ends so."""
    return suffix.removesuffix(".gz").removeprefix(".") in _WRITERS


def file_suffix(path: Path, columns: Columns = _NO_COLUMNS) -> str:
    """The end of a name with which `write_examples` keeps format and compression of a file."""
    if _is_parquet(path):
        return ".parquet"
    with path.open("rb") as raw:
        zipped = ".gz" if raw.read(2) == b"\x1f\x8b" else ""
    head = next(text_chunks(path))
    if not head.lstrip().startswith("{"):
        return f".csv{zipped}"
    return f"{'.json' if _is_squad(head, columns) else '.jsonl'}{zipped}"


def is_file_name(source: str) -> bool:
    """Whether a source is a file of the user, and neither on the hub nor bundled."""
    return not source.startswith((PREFIX, _BUNDLED))


def _writer(path: Path) -> Callable[[TextIO, Iterable[Example]], None]:
    suffix = path.name.removesuffix(".gz").rpartition(".")[2]
    writer = _WRITERS.get(suffix)
    if writer is None:
        raise bad_input(
            path, "", "unknown output format", "end the name in .json or .jsonl (or .gz)"
        )
    return writer


def _is_parquet(path: Path) -> bool:
    with open_bytes(path) as stream:
        return stream.read(4) == b"PAR1"


def _is_squad(head: str, columns: Columns) -> bool:
    """Whether the first object has a top-level key "data" and is not a row of a flat file."""
    keys = set()
    depth = 0
    for piece in _JSON_PIECE.finditer(head):
        if piece[0] in "{[":
            depth += 1
        elif piece[0] in "}]":
            depth -= 1
            if not depth:
                break
        elif depth == 1 and piece[2]:
            keys.add(piece[1])
    row = {columns.get("question", "question"), columns.get("context", "context")}
    return "data" in keys and not keys & row


def _misplaced(source: str | Path, example: Example, answer: Span) -> ReadletError:
    near = nearest_place(example.context, answer)
    where = f"nearest at {near.start}" if near else "it is not in the context"
    fault = f"answer {answer.text!r:.60} is not at {answer.start} ({where})"
    return bad_input(source, f"question {example.id!r}", fault, _fix_remedy(source))


def _fix_remedy(source: str | Path) -> str:
    return f"repair it with `readlet data check {source} --fix OUT`"
