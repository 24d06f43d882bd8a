"""A smaller copy of a reader or classifier: rounded weights, the most frequent words."""

import math
import tempfile
from bisect import bisect_right
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Protocol, TypeVar, runtime_checkable

from readlet.errors import ReadletError, bad_input
from readlet.inference.classifier import Classifier
from readlet.inference.reader import load_reader
from readlet.inference.saving import OTHER_FILES, foreign_to_reader, reserved
from readlet.inference.trained_model import (
    BASELINE,
    TrainedModel,
    reader_files,
    reader_folder,
    stored_task,
)
from readlet.models.config import StoredAs
from readlet.models.family import Scorer
from readlet.storage.overwrite import check_folder

Model = TypeVar("Model", bound=TrainedModel)
MEGABYTE = 1_000_000
MAX_MEGABYTES = 12.0
"""The default limit for a reader with word vectors; as many vectors are kept as fit."""
_BEFORE = ", before slimming"
_ANOTHER = "give another --out"


@dataclass(frozen=True)
class Slimmed:
    """A reader before and after: words with frozen vectors (None: it has no word vectors), dtype
    of its weights on disk, bytes of its files."""

    words_before: int | None
    words: int | None
    stored_before: str
    stored: str
    bytes_before: int
    bytes: int


@runtime_checkable
class Slimmable(Protocol):
    """A scorer whose weights can be rounded."""

    @property
    def stored(self) -> str: ...

    def slimmed(self, stored: StoredAs = "float16") -> Scorer: ...


@runtime_checkable
class WithWords(Protocol):
    """One with word vectors, of which the slim copy can keep only the most frequent."""

    @property
    def stored(self) -> str: ...

    @property
    def words(self) -> int: ...

    def bytes_of_words(self) -> list[int]: ...

    def slimmed(self, words: int | None = None) -> Scorer: ...


def slim(reader: Model, words: int | None = None, *, stored: StoredAs = "float16") -> Model:
    """Round all weights; keep the vectors of the most frequent words, or all."""
    scorer, metrics = reader.scorer, reader.metrics
    made: Scorer
    if isinstance(scorer, WithWords):
        if stored == "int8":
            fault = f"a reader of kind {reader.kind!r} is not stored in eight bits"
            raise bad_input(reader.name, "--int8", fault, "leave it out")
        made = scorer.slimmed(words)
        metrics = metrics | {"slimmed_from": metrics.get("slimmed_from", scorer.words)}
    else:
        made = _slimmable(reader).slimmed(stored)
    source = metrics.get("dev_source", "").removesuffix(_BEFORE)
    renamed = {"dev_source": source + _BEFORE} if source else {}
    return replace(reader, scorer=made, metrics=metrics | renamed)


def slim_to(reader: Model, limit: int, *, stored: StoredAs = "float16") -> Model:
    """The slim reader in a folder of at most `limit` bytes, with as many words as fit."""
    scorer = reader.scorer
    made = slim(reader, 0 if isinstance(scorer, WithWords) else None, stored=stored)
    least = _bytes_when_saved(made)
    if least > limit:
        fault = f"the smallest copy that can be made so takes {least:,}"
        raise bad_input(f"{limit:,} bytes", "", fault, "allow more, or try --int8")
    if not isinstance(scorer, WithWords):
        return made
    # The costs are lower bounds: some numbers in the files get more digits. So the first number of
    # words is never too small, and rarely more than one too large.
    words = bisect_right(list(accumulate(scorer.bytes_of_words())), limit - least)
    while _bytes_when_saved(made := slim(reader, words)) > limit:
        words -= 1
    return made


def _slimmable(reader: TrainedModel) -> Slimmable:
    if not isinstance(reader.scorer, Slimmable):
        fault = f"this reader of kind {reader.kind!r} cannot be slimmed"
        remedy = "give one of kind 'qacnn', 'encoder' or 'classifier' that is not exported"
        raise bad_input(reader.name, "", fault, remedy)
    return reader.scorer


def slim_folder(
    name: str, out: Path, *, max_megabytes: float | None = None, int8: bool = False
) -> Slimmed:
    """Write a slim copy of a reader, in half precision or with matrices in eight bits.

    Of a reader with word vectors it keeps those of as many words as fit; for any other one,
    `max_megabytes` is a limit that is checked.
    """
    if max_megabytes is not None and not 0 < max_megabytes < math.inf:
        raise ReadletError(f"{max_megabytes} MB: not a valid size; give a number above 0")
    inputs = [reader_folder(name)] if name != BASELINE else []
    check_folder(out, foreign_to_reader, inputs, remedy=_ANOTHER)
    with reserved(out, _ANOTHER):
        load = Classifier.load if stored_task(name) == "classes" else load_reader
        given = load(name, device="cpu")
        if not isinstance(given, TrainedModel):
            raise bad_input(name, "", "has no weights to slim", "give a trained reader's folder")
        before = _slimmable(given)
        # Half precision would enlarge what is already in eight bits.
        stored: StoredAs = "int8" if int8 or before.stored == "int8" else "float16"
        if max_megabytes is None and isinstance(before, WithWords):
            max_megabytes = MAX_MEGABYTES
        if max_megabytes is None:
            made = slim(given, stored=stored)
        else:
            made = slim_to(given, int(max_megabytes * MEGABYTE), stored=stored)
        made.save(out)
    after = _slimmable(made)
    return Slimmed(
        words_before=_words(before),
        words=_words(after),
        stored_before=before.stored,
        stored=after.stored,
        bytes_before=_bytes_of(reader_folder(name)),
        bytes=_bytes_of(out),
    )


def _words(scorer: Slimmable) -> int | None:
    return scorer.words if isinstance(scorer, WithWords) else None


def _bytes_when_saved(reader: TrainedModel) -> int:
    with tempfile.TemporaryDirectory() as folder:
        reader.save(Path(folder))
        return _bytes_of(Path(folder))


def _bytes_of(folder: Path) -> int:
    """The size of the reader alone: the folder of a run contains checkpoints and logs too."""
    paths = {*reader_files(folder), *(folder / name for name in OTHER_FILES)}
    return sum(path.stat().st_size for path in paths if path.is_file())
