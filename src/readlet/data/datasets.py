"""Data sets: validated questions, or texts with labels, with unique ids.

Ids may repeat in files: rows without ids are numbered per file, and translations keep their ids.
A number is appended to repeated ones.
"""

import warnings
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import normalize

from readlet.data.answer_offsets import nearest_place, occurrences
from readlet.data.columns import PLAIN, Content, DataFormat, NoColumnError
from readlet.data.sources import read
from readlet.data.tables import Item
from readlet.errors import InputError, ReadletError, bad_input
from readlet.text.labels import place_of
from readlet.types import NO_OFFSET, Example, Sentence, Span

if TYPE_CHECKING:
    import numpy as np


def with_own_ids(examples: Sequence[Item]) -> list[Item]:
    """The same items with unique ids."""
    ids = StreamedIds()
    for example in examples:
        ids.add(example.id)
    if not ids.count_repeated():
        return list(examples)
    own = [ids.own_id(example.id) for example in examples]
    return [
        e if e.id == name else replace(e, id=name) for e, name in zip(examples, own, strict=True)
    ]


def warn_of_repeated_ids(examples: Sequence[Item], consequence: str) -> None:
    if repeated := len(examples) - len({example.id for example in examples}):
        warnings.warn(f"{repeated:,} × repeated id: {consequence}", stacklevel=3)


class StreamedIds:
    """Own ids for a stream of any length, in 8 bytes for each id.

    Add all ids first, then ask for the own id of each one, in the same order.
    """

    def __init__(self) -> None:
        self._digests = array("Q")
        self._next: dict[str, int] = {}  # of repeated ids: the next number to append

    def add(self, identity: str) -> None:
        self._digests.append(_digest(identity))

    def count_repeated(self) -> int:
        """How many ids occurred before; call it once, after the last id is added."""
        import numpy as np

        found, counts = np.unique(np.array(self._digests, np.uint64), return_counts=True)
        total, self._digests = len(self._digests), array("Q")
        self._known = found  # sorted
        self._repeated = found[counts > 1]
        return total - len(found)

    def own_id(self, identity: str) -> str:
        """The id itself the first time; then with a number that gives an id not in the stream."""
        if not _contains(self._repeated, identity):
            return identity
        if identity not in self._next:
            self._next[identity] = 2
            return identity
        number = self._next[identity]
        while _contains(self._known, own := f"{identity}-{number}"):
            number += 1
        self._next[identity] = number + 1
        return own

    def new_id(self, preferred: str, of: str) -> str:
        """An id for an item made from the one with the id `of`: neither in the stream nor given.

        The preferred one, unless it is taken. It must differ for every item of the stream, except
        for those with the same id.
        """
        is_free = not _contains(self._known, preferred)
        if is_free and not _contains(self._repeated, of):
            return preferred
        number = self._next.get(preferred, 1 if is_free else 2)
        own = preferred if number == 1 else f"{preferred}-{number}"
        while _contains(self._known, own):
            number += 1
            own = f"{preferred}-{number}"
        self._next[preferred] = number + 1
        return own


def _digest(identity: str) -> int:
    data = identity.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest())


def _contains(digests: "np.ndarray[tuple[int], np.dtype[np.uint64]]", identity: str) -> bool:
    """Two ids with one digest do no harm: a number is skipped, or an id is tracked needlessly."""
    import numpy as np

    digest = np.uint64(_digest(identity))
    place = int(np.searchsorted(digests, digest))
    return place < len(digests) and bool(digests[place] == digest)


def only_questions(source: str | Path, items: Iterable[Example | Sentence]) -> Iterator[Example]:
    """The items of a source; an error if it has texts with labels."""
    for item in items:
        if not isinstance(item, Example):
            raise bad_input(source, "", "contains texts, not questions", "give question data")
        yield item


def only_texts(source: str | Path, items: Iterable[Example | Sentence]) -> Iterator[Sentence]:
    """The items of a source; an error if it has questions."""
    for item in items:
        if not isinstance(item, Sentence):
            fault = "contains questions, not texts with labels"
            raise bad_input(source, "", fault, "give texts with labels")
        yield item


def read_examples(source: str | Path, data_format: DataFormat = PLAIN) -> Iterator[Example]:
    """Stream validated questions: every answer is at its offset.

    A question has text, and either has answers or is marked impossible. Anything else raises an
    error.
    """
    for item in only_questions(source, read(source, data_format)):
        for field, text in (("question", item.question), ("context", item.context)):
            if not text.strip():
                place = f"question {item.id!r}"
                raise bad_input(source, place, f"the {field} has no text", _fix_remedy(source))
        if not item.answers and not item.is_impossible:
            what = "" if item.is_labelled else "is unlabelled: it "
            fault = f"{what}has no answer and is not marked impossible"
            remedy = "add them, set is_impossible to true, or name a column: --column answer=NAME"
            raise bad_input(source, f"question {item.id!r}", fault, remedy)
        if item.answers and item.is_impossible:
            fault = "is marked impossible but has answers"
            raise bad_input(source, f"question {item.id!r}", fault, _fix_remedy(source))
        for answer in item.answers:
            if not answer.is_in(item.context):
                raise _misplaced(source, item, answer)
        yield item


def read_questions(*sources: str | Path, data_format: DataFormat = PLAIN) -> list[Example]:
    """The questions of all sources with unique ids, since answers are stored by id.

    Ids may repeat: rows without ids are numbered per file, and translations keep their ids.
    """
    examples = [e for source in sources for e in read_examples(source, data_format)]
    warn_of_repeated_ids(examples, "a number is appended")
    return with_own_ids(examples)


def _misplaced(source: str | Path, example: Example, answer: Span) -> ReadletError:
    shown, found = f"{answer.text!r:.60}", occurrences(example.context, answer.text)
    near = nearest_place(example.context, answer)
    if near is None:
        where = "is not in the context"
    elif near.text != answer.text:
        same = normalize("NFC", near.text) == normalize("NFC", answer.text)
        spelled = "in another Unicode normalisation" if same else f"{near.text!r:.60}"
        where = f"is spelled {spelled} in the context"
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


def content_of(source: str | Path, data_format: DataFormat = PLAIN) -> Content:
    """What a source has: questions, or texts with labels. Only its first item is read."""
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
    """Stream validated texts: each has text, and a label unless `allow_unlabelled`."""
    is_pair = None
    for item in only_texts(source, read(source, replace(data_format, content="texts"))):
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


def read_labelled(
    *sources: str | Path,
    data_format: DataFormat = PLAIN,
    allow_unlabelled: bool = False,
) -> list[Sentence]:
    """The texts of all sources with unique ids, since predictions are stored by id."""
    sentences: list[Sentence] = []
    for source in sources:
        read_here = list(read_sentences(source, data_format, allow_unlabelled=allow_unlabelled))
        if not read_here:
            raise bad_input(source, "", "contains no texts", "check how the file was created")
        if sentences and (sentences[0].second is None) != (read_here[0].second is None):
            fault = f"has {'single texts' if read_here[0].second is None else 'pairs of texts'}"
            remedy = "give files of one kind"
            raise bad_input(source, "", f"{fault}, unlike {sources[0]}", remedy)
        sentences += read_here
    warn_of_repeated_ids(sentences, "a number is appended")
    return with_own_ids(sentences)


def require_one_kind(source: str | Path, sentences: Iterable[Sentence], *, pairs: bool) -> None:
    """An error about pairs of texts where a classifier reads single ones, or the reverse."""
    for sentence in sentences:
        if (sentence.second is not None) != pairs:
            kinds = ("single texts", "pairs of texts")
            fault = f"has {kinds[not pairs]}, but the classifier reads {kinds[pairs]}"
            raise bad_input(source, place_of(sentence), fault, "give files of one kind")


def _remedy(source: str | Path) -> str:
    command = f"readlet data check {source}"
    return f"correct or remove the row (`{command}` lists all such rows)"
