"""Datasets: the items of a source, raw or validated, with unique ids.

A source is a file, a split of the bundled corpus, or a dataset of the hub, `hub:NAME@SPLIT`, which
the `datasets` library reads (the `hub` extra). The format of a file is detected by its content,
never by its name.
"""

import logging
import re
import warnings
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from readlet.bundled import NAMES, corpus
from readlet.data.columns import (
    PLAIN,
    Content,
    DataFormat,
    NoColumnError,
    OnFault,
    raise_fault,
)
from readlet.data.faults import Fault, context_faults, example_faults
from readlet.data.json_files import read_json, read_jsonl
from readlet.data.rows import Origin, Row, RowReader
from readlet.data.tables import (
    GlueTask,
    Item,
    glue_task,
    read_cola,
    read_csv,
    read_parquet,
)
from readlet.errors import InputError, bad_input, extra_needed
from readlet.storage.files import open_bytes, text_chunks
from readlet.text.labels import place_of, require_one_kind
from readlet.text.words import word_spans
from readlet.types import Example, Sentence

PREFIX, _BUNDLED = "hub:", "bundled:"
_Reader = Callable[[Path, RowReader, OnFault], Iterator[Example | Sentence]]
# The key of SQuAD's list of articles. Inside a string the quotes would be escaped.
_LIST_OF_DATA = re.compile(r'"data"\s*:\s*\[')
# No reader can be trained on such questions; other faults are left to `data check`.
_UNUSABLE = {Fault.EMPTY, Fault.FLAG, Fault.UNLABELLED, Fault.NOWHERE}
_UNUSABLE |= {Fault.MISPLACED, Fault.NO_OFFSET}


def read(
    source: str | Path,
    data_format: DataFormat = PLAIN,
    *,
    on_fault: OnFault = raise_fault,
    origin: Origin | None = None,
) -> Iterator[Example | Sentence]:
    """Stream the items of the source unchanged: nothing is repaired or dropped.

    With `on_fault`, malformed rows are passed to it and left out; without, the first one raises an
    error. The encoding is found by a byte order mark, else it is the given one, else UTF-8.
    `origin` records the row of each item.
    """
    if str(source).startswith(PREFIX):
        reader = RowReader(source, data_format)
        yield from reader.items(_hub_rows(str(source)), on_fault)
        return
    path = source_path(source)
    reader = RowReader(path, _encoded(path, data_format), origin)
    yield from _reader_of(path, reader.data_format)(path, reader, on_fault)


def _reader_of(path: Path, data_format: DataFormat) -> _Reader:
    if _is_parquet(path):
        return read_parquet
    head = next(text_chunks(path, data_format.encoding))
    start = head.lstrip()[:1]
    if start == "[":
        return partial(read_json, key="")
    if start == "{":
        return read_json if _LIST_OF_DATA.search(head) else read_jsonl
    if glue_task(head) == "cola":
        return read_cola
    return read_csv


def _is_parquet(path: Path) -> bool:
    with open_bytes(path) as stream:
        return stream.read(4) == b"PAR1"


def _hub_rows(source: str) -> Iterator[Row]:
    """Stream a dataset from the hub or a local folder, without loading it into memory."""
    with extra_needed("hub", source):
        import datasets
    name, _, split = source.removeprefix(PREFIX).partition("@")
    if not name:
        raise bad_input(source, "", "no name of a dataset", "write hub:NAME@SPLIT")
    try:
        # Errors are reported below, once.
        datasets.logging.set_verbosity(datasets.logging.CRITICAL)
        logging.getLogger("huggingface_hub").setLevel(logging.CRITICAL)
        rows = datasets.load_dataset(name, split=split or "train", streaming=True)
        for number, values in enumerate(rows, 1):
            yield Row(f"row {number}", number, values, list(values))
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        fault = next(iter(str(error).splitlines()), type(error).__name__)
        remedy = "check NAME and SPLIT in hub:NAME@SPLIT, its files and the network"
        raise bad_input(source, "", fault, remedy) from None


def source_path(source: str | Path) -> Path:
    """The file that a source names; `bundled:test` is a split of the bundled corpus."""
    prefix, _, name = str(source).partition(_BUNDLED)
    return corpus(name) if name and not prefix else Path(source)


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


def task_of(source: str | Path, data_format: DataFormat = PLAIN) -> GlueTask | None:
    """The GLUE task of the file, or None for all other data."""
    if str(source).startswith(PREFIX) or _is_parquet(path := source_path(source)):
        return None
    return glue_task(next(text_chunks(path, _encoded(path, data_format).encoding)))


def _encoded(path: Path, data_format: DataFormat) -> DataFormat:
    """The same format, except that the bundled corpus keeps its own encoding."""
    return replace(data_format, encoding="") if path in map(corpus, NAMES) else data_format


def with_own_ids(examples: Sequence[Item]) -> list[Item]:
    """The same items with unique ids."""
    ids = StreamedIds()
    for example in examples:
        ids.add(example.id)
    if not ids.count_repeated():
        return list(examples)
    return [replace(example, id=ids.own_id(example.id)) for example in examples]


def warn_of_repeated_ids(examples: Sequence[Item], consequence: str) -> None:
    if repeated := len(examples) - len({example.id for example in examples}):
        warnings.warn(f"{repeated:,} × repeated id: {consequence}", stacklevel=3)


class StreamedIds:
    """Unique ids for a stream of any length, in 8 bytes for each id.

    Add all ids first, then get the unique id of each one, in the same order.
    """

    def __init__(self) -> None:
        self._digests = array("Q")
        self._next: dict[str, int] = {}  # of repeated ids: the next number to append

    def add(self, identity: str) -> None:
        self._digests.append(id_digest(identity))

    def count_repeated(self) -> int:
        """How many ids occurred before; call it once, after the last id is added."""
        found, counts = np.unique(np.array(self._digests, np.uint64), return_counts=True)
        total, self._digests = len(self._digests), array("Q")
        self._known = found  # sorted
        self._repeated = found[counts > 1]
        return total - len(found)

    def own_id(self, identity: str) -> str:
        """The id itself the first time; then with a number that gives an id not in the stream."""
        return self._numbered(identity, 1) if _contains(self._repeated, identity) else identity

    def new_id(self, preferred: str, of: str) -> str:
        """An id for an item made from the one with the id `of`: neither in the stream nor given.

        The preferred one, unless it is taken. It must differ for every item of the stream, except
        for those with the same id.
        """
        is_free = not _contains(self._known, preferred)
        if is_free and not _contains(self._repeated, of):
            return preferred
        return self._numbered(preferred, 1 if is_free else 2)

    def _numbered(self, identity: str, first: int) -> str:
        number = self._next.get(identity, first)
        own = identity if number == 1 else f"{identity}-{number}"
        while number > 1 and _contains(self._known, own):
            number += 1
            own = f"{identity}-{number}"
        self._next[identity] = number + 1
        return own


def id_digest(identity: str) -> int:
    """An id in 8 bytes."""
    data = identity.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest())


def _contains(digests: NDArray[np.uint64], identity: str) -> bool:
    """A collision of digests is harmless: a number is skipped, or an id is tracked needlessly."""
    digest = np.uint64(id_digest(identity))
    place = int(np.searchsorted(digests, digest))
    return place < len(digests) and bool(digests[place] == digest)


def items_of(
    source: str | Path, content: Content, data_format: DataFormat = PLAIN
) -> Iterator[Any]:
    """The items of a source, unchanged; an error if they are of the other kind."""
    if content == "texts":
        data_format = replace(data_format, content="texts")
    for item in read(source, data_format):
        if isinstance(item, Sentence) != (content == "texts"):
            names = ("questions", "texts with labels")
            wanted, found = names if content == "questions" else reversed(names)
            raise bad_input(source, "", f"contains {found}, not {wanted}", f"give {wanted}")
        yield item


def read_examples(source: str | Path, data_format: DataFormat = PLAIN) -> Iterator[Example]:
    """Stream validated questions: every answer is at its offset.

    A question has text, and either has answers or is marked impossible. Anything else raises an
    error.

    >>> examples = list(read_examples("bundled:test"))
    >>> examples[0].answers[0].is_in(examples[0].context)
    True
    """
    example: Example
    for example in items_of(source, "questions", data_format):
        is_sound = (
            example.question.strip()
            and example.context.strip()
            and bool(example.answers) != example.is_impossible
            and all(answer.is_in(example.context) for answer in example.answers)
        )
        if not is_sound:
            raise _unusable(source, example)
        yield example


def _unusable(source: str | Path, example: Example) -> InputError:
    """The fault that `data check` finds first."""
    found = chain(
        context_faults(example.id, example.context),
        example_faults(example, word_spans(example.context)),
    )
    first = next(f for f in found if f.fault in _UNUSABLE)
    remedy = f"repair it with `readlet data check {source} --fix OUT`"
    if not example.answers and not example.is_impossible:
        remedy = "add answers, set is_impossible to true, or name a column: --column answer=NAME"
    fault = f"{first.fault.label}: {first.detail}"
    return bad_input(source, f"question {example.id!r}", fault, remedy)


def read_questions(*sources: str | Path, data_format: DataFormat = PLAIN) -> list[Example]:
    """The questions of all sources with unique ids, since answers are stored by id.

    Ids may repeat: rows without ids are numbered per file, and translations keep their ids.
    """
    examples = [e for source in sources for e in read_examples(source, data_format)]
    warn_of_repeated_ids(examples, "a number is appended")
    return with_own_ids(examples)


def content_of(source: str | Path, data_format: DataFormat = PLAIN) -> Content:
    """What a source contains: questions, or texts with labels. Only its first item is read."""
    faults: list[InputError] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they come when all of it is read
        first = next(read(source, data_format, on_fault=faults.append), None)
    if first is None and faults and isinstance(faults[0], NoColumnError):
        raise faults[0]
    return "texts" if isinstance(first, Sentence) else "questions"


def read_sentences(
    source: str | Path,
    data_format: DataFormat = PLAIN,
    *,
    allow_unlabelled: bool = False,
) -> Iterator[Sentence]:
    """Stream validated texts: each has text, and a label unless `allow_unlabelled`.

    >>> next(read_sentences("bundled:reviews-dev")).label
    'good'
    """
    is_pair = None
    item: Sentence
    for item in items_of(source, "texts", data_format):
        if is_pair is None:
            is_pair = item.second is not None
        if is_pair != (item.second is not None):
            fault = f"has {'no' if is_pair else 'a'} second text, unlike the rows before it"
            raise bad_input(source, place_of(item), fault, _remedy(source))
        for field, text in (("text", item.text), ("second text", item.second)):
            if text is not None and not text.strip():
                raise bad_input(source, place_of(item), f"the {field} is empty", _remedy(source))
        if item.label is None and not allow_unlabelled:
            remedy = f"name its column with --column label=NAME, or {_remedy(source)}"
            raise bad_input(source, place_of(item), "has no label", remedy)
        yield item


def read_labelled(*sources: str | Path, data_format: DataFormat = PLAIN) -> list[Sentence]:
    """The texts of all sources with unique ids, since predictions are stored by id."""
    sentences: list[Sentence] = []
    for source in sources:
        read_here = list(read_sentences(source, data_format))
        if not read_here:
            raise bad_input(source, "", "contains no texts", "check how the file was created")
        sentences += read_here
        require_one_kind(source, read_here[:1], pairs=sentences[0].second is not None)
    warn_of_repeated_ids(sentences, "a number is appended")
    return with_own_ids(sentences)


def _remedy(source: str | Path) -> str:
    return f"correct or remove the row (`readlet data check {source}` lists all such rows)"
