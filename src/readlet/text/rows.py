"""Rows: the inputs of a model, in any tokenisation; for a span model a question and a window.

A *position* is a token of the context that the model scores: a word or a subword. Each has
character offsets in the original text, so answers can be converted between tokenisations.

Rows of training data are kept on disk under a key of everything that determines them, so entries
are never stale. That cache has a limited size: each new entry evicts the least recently used ones.
"""

import hashlib
import inspect
import json
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import numpy as np
import regex
from numpy.typing import NDArray

from readlet.console import say
from readlet.errors import ReadletError
from readlet.storage.files import atomic_bytes, cache_folder, open_bytes
from readlet.text.words import UNSPACED, snap
from readlet.types import Example

Ints = NDArray[np.int32]
Stored = tuple[dict[str, NDArray[Any]], dict[str, Any]]
"""Arrays by name, and values for JSON: the stored form of rows and encoders."""
NO_LABEL = -1
LONG_QUESTION = "long question: only its beginning is read"


@dataclass(kw_only=True)
class AnyRows(ABC):
    """The rows of a data set, for any task."""

    row_label: NDArray[Any]  # (rows, ...) the labels
    notes: dict[str, list[str]] = field(default_factory=dict)  # ids of changed examples by reason

    def __len__(self) -> int:
        return len(self.row_label)

    @property
    @abstractmethod
    def longest(self) -> int:
        """The number of positions, or tokens, of the longest row."""

    def stored(self) -> Stored:
        """The arrays and notes, for the cache."""
        arrays = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "notes"}
        return arrays, self.notes

    @classmethod
    def from_stored(cls, stored: Stored) -> Self:
        arrays, notes = stored
        return cls(**arrays, notes=notes)


@dataclass(kw_only=True)
class Rows(AnyRows):
    """Rows of a span model. An encoder adds the arrays that its model reads."""

    offsets: Ints  # (positions of all texts, 2) characters of each position in its text
    row_example: Ints  # (rows,) which example a row belongs to
    row_window: Ints  # (rows, 2) first position in `offsets`, and number of positions
    row_label: Ints  # (rows, 2) first and last position of the answer in the window, or NO_LABEL
    row_impossible: NDArray[np.bool_]  # (rows,) the window contains no answer

    @property
    def longest(self) -> int:
        return int(self.row_window[:, 1].max(initial=0))

    def places(self, row: int) -> Ints:
        """The character offsets of each position of a row: (positions, 2), half-open."""
        first, count = self.row_window[row]
        return self.offsets[first : first + count]

    def trainable(self, *, can_abstain: bool) -> Ints:
        """Rows to train on: those with an answer, and those without if the model can abstain."""
        labelled = self.row_label[:, 0] != NO_LABEL  # (rows,)
        return np.flatnonzero(labelled | (self.row_impossible & can_abstain)).astype(np.int32)


# In scripts without spaces every character is a word: about this many equal a word elsewhere.
_CHARACTERS_OF_WORD = 4


@dataclass(frozen=True)
class Windows:
    """The sizes of windows, in words."""

    max_context: int
    overlap: int
    max_question: int

    def starts(self, length: int) -> range:
        """The first word of each window; together they cover all of `length` words."""
        step = self.max_context - self.overlap
        beyond = max(length - self.max_context, 0)
        return range(0, beyond + step if beyond else 1, step)

    def longest_question(self, languages: Iterable[str]) -> int:
        """The most words of a question in one of these languages."""
        is_finer = not UNSPACED.isdisjoint(languages)
        return self.max_question * (_CHARACTERS_OF_WORD if is_finer else 1)


class RowBuilder:
    """Cuts examples into rows, labelled with the first gold answer. Notes every change."""

    def __init__(self, windows: Windows) -> None:
        self.windows = windows
        self.notes: dict[str, list[str]] = {}
        self._example: list[int] = []
        self._window: list[tuple[int, int]] = []
        self._label: list[tuple[int, int]] = []
        self._impossible: list[bool] = []

    def add(
        self, number: int, example: Example, places: Sequence[tuple[int, int]], first_place: int
    ) -> int:
        """Add the rows of one example and return their number.

        `first_place` is the index of its first position among those of all texts.
        """
        first, last = self._label_of(example, places)
        starts = self.windows.starts(len(places))
        if len(starts) > 1:
            self.note("long context: read in windows", example)
        longest = self.windows.max_context
        if first != NO_LABEL and not any(s <= first and last < s + longest for s in starts):
            self.note("answer fits into no window: not trained on", example)
            first = last = NO_LABEL
        for start in starts:
            count = min(longest, len(places) - start)
            inside = first != NO_LABEL and first >= start and last < start + count
            self._example.append(number)
            self._window.append((first_place + start, count))
            self._label.append((first - start, last - start) if inside else (NO_LABEL, NO_LABEL))
            self._impossible.append(not inside and (not example.answers or first != NO_LABEL))
        return len(starts)

    def note(self, what: str, example: Example) -> None:
        self.notes.setdefault(what, []).append(example.id)

    def arrays(self) -> dict[str, Any]:
        """The fields of `Rows` except `offsets`."""
        return {
            "row_example": ints(self._example),
            "row_window": ints(self._window).reshape(-1, 2),
            "row_label": ints(self._label).reshape(-1, 2),
            "row_impossible": np.array(self._impossible, np.bool_),
            "notes": self.notes,
        }

    def _label_of(self, example: Example, places: Sequence[tuple[int, int]]) -> tuple[int, int]:
        if not example.answers:
            return NO_LABEL, NO_LABEL
        gold = example.answers[0]
        whole = snap(places, gold.start, gold.end)
        if whole is None:
            self.note("answer without a word: not trained on", example)
            return NO_LABEL, NO_LABEL
        if whole.moved:
            self.note("answer cuts a word: taken with the whole word", example)
        return whole.first, whole.last


def ints(values: Sequence[Any]) -> Ints:
    return np.array(values, np.int32)


_Made = TypeVar("_Made")
_CHARACTERS = 500_000  # of all remembered texts: about 20 MB of positions


class SizedCache(Generic[_Made]):
    """The results of `make` by text; all texts together have at most `most` characters."""

    def __init__(self, make: Callable[[list[str]], list[_Made]], most: int = _CHARACTERS) -> None:
        self._make = make
        self._most = most
        self._made: dict[str, _Made] = {}  # in the order of their last use
        self._lock = threading.Lock()

    def __call__(self, texts: Sequence[str]) -> list[_Made]:
        """Results in order; `make` gets the new texts, each once."""
        with self._lock:
            found = {text: self._made[text] for text in texts if text in self._made}
        new = [text for text in dict.fromkeys(texts) if text not in found]
        if new:
            found.update(zip(new, self._make(new), strict=True))
        with self._lock:
            kept = {text: made for text, made in self._made.items() if text not in found} | found
            room = self._most - sum(map(len, kept))
            for text in list(kept):
                if room >= 0:
                    break
                del kept[text]
                room += len(text)
            self._made = kept
        return [found[text] for text in texts]

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy starts empty, with its own lock and encoder."""
        return SizedCache, (self._make, self._most)


_MAX_BYTES = 10 << 30  # SQuAD with its word vectors takes a hundredth
_META = "meta.json"


def cache_key(paths: list[Path], settings: dict[str, Any], maker: Callable[..., Any]) -> str:
    """Digest of the files' content, the settings, and the code that makes the stored arrays.

    That code is `data`, `text`, and the module of `maker`, the function that makes them.
    """
    digest = hashlib.sha256(_code_version().encode())
    digest.update(Path(inspect.getfile(maker)).read_bytes())
    digest.update(json.dumps(settings, sort_keys=True, default=str).encode())
    for path in paths:
        with open_bytes(path) as stream:  # however compressed
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()[:32]


def cached(key: str, build: Callable[[], Stored]) -> Stored:
    """The entry stored under the key, or the result of `build`, stored for the next time."""
    path = cache_folder() / f"{key}.npz"
    if path.is_file():
        with suppress(OSError):  # the cache may be read-only for this user
            os.utime(path)  # mark as used now
        try:
            return _load(path)
        except Exception as error:  # every byte of it may be another one
            say(f"readlet: cache entry {key} is damaged ({error}); rebuilt")
    arrays, meta = build()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_bytes(path) as stream:
            content = np.frombuffer(json.dumps(meta).encode(), np.uint8)  # (bytes,)
            entry: dict[str, Any] = {**arrays, _META: content}
            np.savez(stream, **entry)
        _evict(path.parent)
    except (OSError, ReadletError) as error:  # a full disk must not stop the training
        say(f"readlet: not cached: {error}")
    return arrays, meta


def _load(path: Path) -> Stored:
    # The archive has a checksum of every array: a changed number would be trained on unnoticed.
    with np.load(path, allow_pickle=False) as found:
        arrays = dict(found.items())
    return arrays, json.loads(arrays.pop(_META).tobytes())


def _evict(cache: Path) -> None:
    """Remove the least recently used entries until the rest fits."""
    found = []
    for path in cache.glob("?" * 32 + ".npz"):
        with suppress(OSError):  # another process may remove it at the same time
            found.append((path.stat().st_mtime, path))
    free = _MAX_BYTES
    for _, path in sorted(found, reverse=True):
        with suppress(OSError):
            free -= path.stat().st_size
            if free < 0:
                path.unlink()


def _code_version() -> str:
    """Digest of the code that reads and encodes, and of the version of `regex`."""
    package = Path(__file__).parent.parent
    rooms = [path for room in ("text", "data") for path in (package / room).iterdir()]
    rooms = [path for path in rooms if path.suffix in (".py", ".json")]
    digest = hashlib.sha256(regex.__version__.encode())
    for path in sorted([*rooms, package / "types.py"]):
        digest.update(path.read_bytes())
    return digest.hexdigest()
