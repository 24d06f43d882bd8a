"""Write the questions or texts of files, unchanged, to a file of another format."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from readlet.data import content_of, read, write_examples
from readlet.data.columns import PLAIN, DataFormat
from readlet.data.writing import check_target, output_kind, write_sentences
from readlet.errors import bad_input
from readlet.types import NO_OFFSET, Example, Sentence


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
        texts = (item for source in sources for item in read_texts(source, data_format))
        write_sentences(out, _counted_texts(texts, counts))
        return counts
    items = (item for source in sources for item in read_all(source, data_format))
    write_examples(out, arranged(out, _counted(items, counts)))
    return counts


def read_all(source: str, data_format: DataFormat) -> Iterator[Example]:
    """All questions of a source as they are; an error if it has texts with labels."""
    for item in read(source, data_format):
        if not isinstance(item, Example):
            raise bad_input(source, "", "contains texts, not questions", "give question data")
        yield item


def read_texts(source: str, data_format: DataFormat) -> Iterator[Sentence]:
    """All texts of a source as they are; an error if it has questions."""
    for item in read(source, replace(data_format, content="texts")):
        if not isinstance(item, Sentence):
            fault = "contains questions, not texts with labels"
            raise bad_input(source, "", fault, "give files of one kind")
        yield item


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


def _counted(examples: Iterable[Example], counts: Converted) -> Iterator[Example]:
    ids: set[int] = set()  # hashes need less memory than the texts
    contexts: set[int] = set()
    for example in examples:
        counts.questions += 1
        counts.unlabelled += not example.is_labelled
        counts.repeated_ids += hash(example.id) in ids
        counts.without_place += sum(answer.start == NO_OFFSET for answer in example.answers)
        ids.add(hash(example.id))
        contexts.add(hash(example.context))
        counts.contexts = len(contexts)
        yield example


def _counted_texts(sentences: Iterable[Sentence], counts: Converted) -> Iterator[Sentence]:
    ids: set[int] = set()
    for sentence in sentences:
        counts.texts += 1
        counts.unlabelled += sentence.label is None
        counts.repeated_ids += hash(sentence.id) in ids
        ids.add(hash(sentence.id))
        yield sentence
