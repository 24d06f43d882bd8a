"""Examples and Sentences to files: the format follows the name; existing files are kept by default.

Also converts whole files, unchanged, to another format.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TextIO

from readlet.data.columns import PLAIN, DataFormat
from readlet.data.datasets import content_of, input_path, only_questions, only_texts, read
from readlet.data.json_files import write_jsonl, write_records, write_squad
from readlet.data.tables import Item, require_pyarrow, write_csv, write_parquet, write_tsv
from readlet.errors import bad_input
from readlet.storage.files import atomic_text
from readlet.storage.overwrite import check_file
from readlet.types import NO_OFFSET, Example, Sentence

_Writer = Callable[[TextIO, Iterable[Item]], None]
_ROWS: dict[str, Callable[[TextIO, Iterable[Any]], None]] = {
    "jsonl": write_jsonl,
    "csv": write_csv,
    "tsv": write_tsv,
}
OUTPUT_NAMES = ".json, .jsonl, .csv, .tsv (also .gz) or .parquet"
"""How the name of an output ends."""


def write_examples(path: str | Path, examples: Iterable[Example]) -> None:
    """SQuAD JSON for `.json`, rows for `.jsonl`, `.csv`, `.tsv`, `.parquet`; written atomically.

    Names of text files may end in `.gz`.

    >>> from readlet import read_examples
    >>> write_examples("dev.csv", read_examples("bundled:dev"))
    >>> list(read_examples("dev.csv")) == list(read_examples("bundled:dev"))
    True
    """
    _write(Path(path), examples, write_squad)


def write_sentences(path: Path, sentences: Iterable[Sentence]) -> None:
    """A JSON array for `.json`, rows for the others; written atomically."""
    _write(path, sentences, write_records)


def _write(path: Path, items: Iterable[Item], as_json: _Writer[Item]) -> None:
    kind = output_kind(path)
    if kind == "parquet":
        write_parquet(path, items)
        return
    with atomic_text(path) as stream:
        _ROWS.get(kind, as_json)(stream, items)


def check_target(path: Path, sources: Iterable[str], *, overwrite: bool) -> None:
    """Check that examples from these sources can be written there; call it before long work."""
    if output_kind(path) == "parquet":
        require_pyarrow(path)
    inputs = [input_path(source) for source in sources]
    check_file(path, inputs, overwrite=overwrite)


def is_output(path: Path) -> bool:
    """Whether the name ends in a format that can be written."""
    return path.suffix.lower() == ".parquet" or _text_kind(path) in ("json", *_ROWS)


def output_kind(path: Path) -> str:
    """The format of an output, by its name."""
    if not is_output(path):
        raise bad_input(path, "", "unknown output format", f"end the name in {OUTPUT_NAMES}")
    return "parquet" if path.suffix.lower() == ".parquet" else _text_kind(path)


def _text_kind(path: Path) -> str:
    _, dot, kind = path.name.lower().removesuffix(".gz").rpartition(".")
    return kind if dot else ""


@dataclass
class Converted:
    """What was written."""

    questions: int = 0
    contexts: int = 0
    texts: int = 0
    unlabelled: int = 0
    repeated_ids: int = 0
    without_place: int = 0  # answers

    def as_json(self) -> dict[str, Any]:
        absent = ("questions", "contexts", "without_place") if self.texts else ("texts",)
        return {name: count for name, count in asdict(self).items() if name not in absent}


def convert(
    sources: Sequence[str],
    out: Path,
    data_format: DataFormat = PLAIN,
    *,
    overwrite: bool = False,
) -> Converted:
    """Write all questions, or all texts with labels, of the sources to one file, in order.

    Nothing is repaired or dropped. Only SQuAD JSON (`.json`) changes the order: it has each context
    once.
    """
    check_target(out, sources, overwrite=overwrite)
    counts = Converted()
    if content_of(sources[0], data_format) == "texts":
        texts = (item for source in sources for item in all_texts(source, data_format))
        write_sentences(out, _counted(texts, counts))
    else:
        items = (item for source in sources for item in all_questions(source, data_format))
        write_examples(out, arranged(out, _counted(items, counts)))
    return counts


def all_questions(source: str, data_format: DataFormat) -> Iterator[Example]:
    """The questions of a source, unchanged."""
    return only_questions(source, read(source, data_format))


def all_texts(source: str, data_format: DataFormat) -> Iterator[Sentence]:
    """The texts of a source, unchanged."""
    return only_texts(source, read(source, replace(data_format, content="texts")))


def arranged(out: Path, examples: Iterable[Example]) -> Iterable[Example]:
    """Examples in the order in which a file stores them.

    SQuAD JSON groups questions by article and paragraph: these are collected in memory. All other
    formats are written as the questions are read.
    """
    if output_kind(out) != "json":
        return examples
    articles: dict[tuple[str, str], dict[str, list[Example]]] = {}
    for example in examples:
        paragraphs = articles.setdefault((example.title, example.language), {})
        paragraphs.setdefault(example.context, []).append(example)
    return (
        example
        for paragraphs in articles.values()
        for members in paragraphs.values()
        for example in members
    )


def _counted(items: Iterable[Item], counts: Converted) -> Iterator[Item]:
    ids: set[int] = set()  # hashes need less memory than the texts
    contexts: set[int] = set()
    for item in items:
        counts.repeated_ids += hash(item.id) in ids
        ids.add(hash(item.id))
        if isinstance(item, Sentence):
            counts.texts += 1
            counts.unlabelled += item.label is None
        else:
            counts.questions += 1
            counts.unlabelled += not item.is_labelled
            counts.without_place += sum(answer.start == NO_OFFSET for answer in item.answers)
            contexts.add(hash(item.context))
            counts.contexts = len(contexts)
        yield item
