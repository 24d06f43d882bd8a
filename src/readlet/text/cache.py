"""Arrays on disk under a key of everything that determines them, so entries are never stale.

The cache has a limited size: each new entry evicts the least recently used ones.

What was made of the last texts: a passage that is asked about again is not split again.
"""

import hashlib
import inspect
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, TypeVar
from uuid import uuid4

import numpy as np
import regex
from numpy.typing import NDArray

from readlet.storage.files import cache_folder, open_bytes
from readlet.terminal import say

Stored = tuple[dict[str, NDArray[Any]], dict[str, Any]]
_MAX_BYTES = 10 << 30  # SQuAD with its word vectors takes a hundredth
_IN_USE = 3600  # seconds after which no other process still uses an entry
_DIGEST = "digest"
# Entries and their drafts; other files in the folder are not ours.
_OURS = regex.compile(r"[0-9a-f]{32}|\.[0-9a-f]{32}\.[0-9a-f]+")


def cache_key(paths: list[Path], settings: dict[str, Any], maker: Callable[..., Any]) -> str:
    """Digest of the files' content, the settings, and the code that makes the stored arrays.

    That code is `formats`, `encoding`, and the module of `maker`, the function that makes them.
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
    folder = cache_folder() / key
    if folder.is_dir():
        with suppress(OSError):  # the cache may be read-only for this user
            os.utime(folder)  # mark as used now
        try:
            return _load(folder)
        except (OSError, EOFError, ValueError, KeyError, TypeError, RecursionError) as error:
            say(f"readlet: cache entry {key} is damaged ({error}); rebuilt")
            shutil.rmtree(folder, ignore_errors=True)
    arrays, meta = build()
    try:
        _store(folder, arrays, meta)
        _evict(folder.parent)
    except OSError as error:  # a full disk must not stop the training
        say(f"readlet: not cached: {error}")
    return arrays, meta


def _load(folder: Path) -> Stored:
    if (folder / _DIGEST).read_text("ascii") != _digest(folder):
        raise ValueError("its digest is another")
    meta = json.loads((folder / "meta.json").read_text("utf-8"))
    arrays = {name: np.load(folder / f"{name}.npy", allow_pickle=False) for name in meta["arrays"]}
    return arrays, meta["content"]


def _store(folder: Path, arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> None:
    """Write to a draft folder and rename it when complete."""
    # A UUID, not the process id: containers that share a cache may have the same process ids.
    draft = folder.with_name(f".{folder.name}.{uuid4().hex}")
    try:
        draft.mkdir(parents=True)
        for name, array in arrays.items():
            np.save(draft / f"{name}.npy", array, allow_pickle=False)
        content = json.dumps({"arrays": list(arrays), "content": meta})
        (draft / "meta.json").write_text(content, "utf-8")
        (draft / _DIGEST).write_text(_digest(draft), "ascii")
        if not folder.exists():
            draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _digest(folder: Path) -> str:
    """Of all files: a changed number within its range would be trained on unnoticed."""
    found = hashlib.blake2b(digest_size=16)
    for path in sorted(folder.iterdir()):
        if path.name != _DIGEST:
            with path.open("rb") as stream:
                of_file = hashlib.file_digest(stream, "blake2b").digest()
            found.update(path.name.encode() + b"\0" + of_file)
    return found.hexdigest()


def _evict(cache: Path) -> None:
    """Remove the least recently used entries until the rest fits, and drafts of dead processes."""
    found = []
    for path in cache.iterdir():
        is_draft = path.name.startswith(".")
        if _OURS.fullmatch(path.name) and (is_draft or (path / "meta.json").is_file()):
            with suppress(OSError):  # another process may remove it at the same time
                size = sum(file.stat().st_size for file in path.iterdir())
                found.append((path.stat().st_mtime, size, path))
    free = _MAX_BYTES
    for used, size, path in sorted(found, reverse=True):
        free -= size
        is_unused = time.time() - used > _IN_USE
        if is_unused and (free < 0 or path.name.startswith(".")):
            shutil.rmtree(path, ignore_errors=True)


def _code_version() -> str:
    """Digest of the code that reads and encodes, and of the version of `regex`."""
    package = Path(__file__).parent.parent
    rooms = [path for room in ("text", "data") for path in (package / room).rglob("*.py")]
    digest = hashlib.sha256(regex.__version__.encode())
    for path in sorted([*rooms, package / "types.py"]):
        digest.update(path.read_bytes())
    return digest.hexdigest()


Text = TypeVar("Text", bound=Hashable)  # a text, or a text with its language
Made = TypeVar("Made")
CHARACTERS = 500_000
"""Of all remembered texts: some 20 MB of places."""


class Remembered(Generic[Text, Made]):
    """Results of `make` by text. The texts that were not used for longest are forgotten first."""

    def __init__(
        self,
        make: Callable[[list[Text]], list[Made]],
        length: Callable[[Text], int],
        most: int = CHARACTERS,
    ) -> None:
        """All texts together have at most the length `most`."""
        self._make = make
        self._length = length
        self._most = most
        self._made: dict[Text, Made] = {}  # in the order of their last use
        self._total = 0
        self._lock = threading.Lock()

    def __call__(self, texts: Sequence[Text]) -> list[Made]:
        """Results in order; `make` gets the new texts, each once."""
        with self._lock:
            found = {text: self._made[text] for text in texts if text in self._made}
        new = [text for text in dict.fromkeys(texts) if text not in found]
        if new:
            found.update(zip(new, self._make(new), strict=True))
        with self._lock:
            for text, made in found.items():
                self._put(text, made)
        return [found[text] for text in texts]

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy begins empty: it has a lock and an encoder of its own."""
        return Remembered, (self._make, self._length, self._most)

    def _put(self, text: Text, made: Made) -> None:
        if text in self._made:
            self._drop(text)
        length = self._length(text)
        if length > self._most:
            return
        self._made[text] = made
        self._total += length
        while self._total > self._most:
            self._drop(next(iter(self._made)))

    def _drop(self, text: Text) -> None:
        del self._made[text]
        self._total -= self._length(text)
