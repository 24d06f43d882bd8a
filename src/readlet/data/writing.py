"""Texts with labels to files: CSV, TSV, a JSON array, Parquet.

What a file has that Examples do not: fields and paragraphs that would be lost on writing it.

Examples to files: the format is chosen by the name, and nothing is replaced unasked.
"""

import codecs
import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from readlet.data.columns import PLAIN, DataFormat
from readlet.data.csv_files import is_encodable, write_csv, write_tsv
from readlet.data.json_files import ListStream, json_object, write_jsonl
from readlet.data.parquet_files import require_pyarrow, write_parquet
from readlet.data.rows import text_record
from readlet.data.sources import detect, has_columns, input_path
from readlet.data.squad import version_of, write_squad
from readlet.errors import InputError, ReadletError, bad_input
from readlet.storage.files import atomic_bytes, atomic_text, text_chunks, text_lines
from readlet.storage.overwrite import ANOTHER_FILE, check_file
from readlet.types import Example, Sentence

_BATCH = 1024  # rows
_SINGLE = ("id", "text", "label")
_PAIR = ("id", "text", "second", "label")


def write_text_csv(stream: TextIO, sentences: Iterable[Sentence], delimiter: str = ",") -> None:
    # All cells are quoted, the names too: then no text is ambiguous, also between tabs.
    writer = csv.writer(stream, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n")
    names: tuple[str, ...] = ()
    for sentence in storable_texts(sentences, "CSV"):
        if not names:
            names = _names(sentence)
            writer.writerow(names)
        writer.writerow([getattr(sentence, name) or "" for name in names])


def write_text_tsv(stream: TextIO, sentences: Iterable[Sentence]) -> None:
    write_text_csv(stream, sentences, "\t")


def write_text_json(stream: TextIO, sentences: Iterable[Sentence]) -> None:
    for number, sentence in enumerate(sentences):
        stream.write(",\n" if number else "[\n")
        json.dump(text_record(sentence), stream, ensure_ascii=False)
    stream.write("\n]\n")


def write_text_parquet(path: Path, sentences: Iterable[Sentence]) -> None:
    """Write in batches, atomically."""
    require_pyarrow(path)
    import pyarrow
    from pyarrow import parquet

    rest = storable_texts(sentences, "Parquet")
    batch = list(islice(rest, _BATCH))
    names = _names(batch[0])
    schema = pyarrow.schema([(name, pyarrow.string()) for name in names])
    with atomic_bytes(path) as stream:
        try:
            with parquet.ParquetWriter(stream, schema) as writer:
                while batch:
                    records = [{name: getattr(s, name) for name in names} for s in batch]
                    writer.write_batch(pyarrow.RecordBatch.from_pylist(records, schema=schema))
                    batch = list(islice(rest, _BATCH))
        except pyarrow.ArrowException as error:
            raise ReadletError(f"{path}: not written: {error}; write a .jsonl file") from None


def storable_texts(sentences: Iterable[Sentence], what: str) -> Iterator[Sentence]:
    """The same texts; an error at the first one that a table cannot store as it is."""
    is_pair = None
    for sentence in sentences:
        if is_pair is None:
            is_pair = sentence.second is not None
        if is_pair != (sentence.second is not None):
            fault = f"{what} cannot store single texts and pairs in one file"
            raise ReadletError(f"row {sentence.id!r}: {fault}; write a .jsonl file")
        texts = (sentence.id, sentence.text, sentence.second or "", sentence.label or "")
        if not all(map(is_encodable, texts)):
            fault = f"it has an unpaired surrogate, which {what} cannot store"
            raise ReadletError(f"row {sentence.id!r}: {fault}; write a .jsonl file")
        yield sentence


def _names(first: Sentence) -> tuple[str, ...]:
    return _SINGLE if first.second is None else _PAIR


_ANSWER = {"text", "answer_start"}
_ASKED = {"id", "question", "question_language"}
_QUESTION = _ASKED | {"answers", "is_impossible", "plausible_answers"}
_ROW = _QUESTION | {"context", "title", "language"}
_ARTICLE = {"title", "language", "paragraphs"}
_PARAGRAPH = {"context", "qas"}


def lost_from_jsonl(path: Path) -> str:
    """What rows have besides the fields that are written, in words; empty if nothing."""
    names = dict.fromkeys(name for row in _rows(path) for name in _lost_from_record(row, _ROW))
    return _fields(names)


def lost_from_squad(path: Path) -> str:
    """The same for articles, and their version if another one would be written."""
    items = ListStream(path, text_chunks(path, ""), "data")
    names: dict[str, None] = {}
    any_impossible = False
    try:
        for article in items:
            for paragraph in _objects(_lost(article, _ARTICLE, names).get("paragraphs")):
                questions = _lost(paragraph, _PARAGRAPH, names).get("qas")
                if questions == []:
                    return "paragraphs without questions"
                for qa in _objects(questions):
                    names |= dict.fromkeys(_lost_from_record(qa, _QUESTION))
                    any_impossible |= _is_impossible(qa)
            if isinstance(article, Mapping) and article.get("paragraphs") == []:
                return "articles without paragraphs"
    except InputError:  # the rest cannot be read, and is reported as dropped
        pass
    version = items.others.pop("version", None)
    names |= dict.fromkeys(items.others)
    if not names and version not in (None, version_of(any_impossible)):
        return f"its own version ({version!r:.40})"
    return _fields(names)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(text_lines(path, ""), 1):
        if line.isspace():
            continue
        try:
            yield json_object(path, number, line)
        except InputError:  # reported as dropped
            continue


def _lost(item: Any, written: set[str], names: dict[str, None]) -> Mapping[str, Any]:
    """The item, after its other names are noted; an empty one if it is malformed."""
    if not isinstance(item, Mapping):
        return {}
    names |= dict.fromkeys(name for name in item if name not in written)
    return item


def _lost_from_record(record: Mapping[str, Any], written: set[str]) -> Iterator[str]:
    yield from (name for name in record if name not in written)
    for field in ("answers", "plausible_answers"):
        answers = record.get(field)
        for answer in [answers] if isinstance(answers, Mapping) else _objects(answers):
            yield from (name for name in answer if name not in _ANSWER)


def _objects(values: Any) -> list[Mapping[str, Any]]:
    items = values if isinstance(values, list) else []
    return [item for item in items if isinstance(item, Mapping)]


def _is_impossible(qa: Mapping[str, Any]) -> bool:
    flag = qa.get("is_impossible")
    return bool(flag) if flag is not None else "answers" in qa and not qa["answers"]


def _fields(names: Iterable[str]) -> str:
    shown = list(names)
    more = f" and {len(shown) - 5} more" if len(shown) > 5 else ""
    return f"other fields ({', '.join(f'{name:.40}' for name in shown[:5])}{more})" if shown else ""


_TEXT_WRITERS: dict[str, Callable[[TextIO, Iterable[Example]], None]] = {
    "json": write_squad,
    "jsonl": write_jsonl,
    "csv": write_csv,
    "tsv": write_tsv,
}
_LABELLED_WRITERS: dict[str, Callable[[TextIO, Iterable[Sentence]], None]] = {
    "json": write_text_json,
    "jsonl": write_jsonl,
    "csv": write_text_csv,
    "tsv": write_text_tsv,
}
OUTPUT_NAMES = ".json, .jsonl, .csv, .tsv (also .gz) or .parquet"
"""How the name of an output ends."""


def write_examples(path: Path, examples: Iterable[Example]) -> None:
    """SQuAD JSON for `.json`, rows for `.jsonl`, `.csv`, `.tsv`, `.parquet`; written atomically.

    Names of text files may end in `.gz`.
    """
    if output_kind(path) == "parquet":
        write_parquet(path, examples)
        return
    with atomic_text(path) as stream:
        _TEXT_WRITERS[output_kind(path)](stream, examples)


def write_sentences(path: Path, sentences: Iterable[Sentence]) -> None:
    """A JSON array for `.json`, rows for the others; written atomically. There must be one."""
    if output_kind(path) == "parquet":
        write_text_parquet(path, sentences)
        return
    with atomic_text(path) as stream:
        _LABELLED_WRITERS[output_kind(path)](stream, sentences)


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


def own_suffix(path: Path, data_format: DataFormat = PLAIN) -> str | None:
    """The end of a name with which `write_examples` keeps the structure of a file.

    None for tables, whose other columns would be lost, and for other encodings than UTF-8.
    """
    encoding = data_format.encoding
    kind = detect(path, data_format)
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
    is_jsonl = detect(path) == "jsonl"
    return lost_from_jsonl(path) if is_jsonl else lost_from_squad(path)
