"""The texts of a folder's documents, kept: a file is read again only when it has changed.

They are in the user's cache folder, under a digest of the folder's path. A file in the folder
itself could come from anyone, and answers would quote what it says instead of the documents.
"""

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from readlet.errors import ReadletError, disk_fault, warn_caller
from readlet.inference.document_text import DocumentText
from readlet.storage.files import atomic_text, cache_folder, text_chunks

_FORMAT = 1


@dataclass
class DocumentIndex:
    """What was read of each file, with the size and the time of change that it had then."""

    path: Path
    files: dict[str, dict[str, Any]]
    is_changed: bool = False

    @classmethod
    def of(cls, folder: str) -> "DocumentIndex":
        """The index of a folder; one that is damaged or of another version is empty."""
        digest = hashlib.sha256(os.path.realpath(folder).encode("utf-8", "surrogateescape"))
        path = cache_folder() / "documents" / f"{digest.hexdigest()[:32]}.json.gz"
        try:
            stored = json.loads("".join(text_chunks(path)))
            return cls(path, stored["files"] if stored["format"] == _FORMAT else {})
        except (OSError, ReadletError, ValueError, KeyError, TypeError, RecursionError):
            return cls(path, {})

    @property
    def exists(self) -> bool:
        return self.path.is_file()

    def read(
        self, name: str, encoding: str, read: Callable[[str, str], DocumentText]
    ) -> DocumentText:
        """The kept text, or what `read` gives now. Files that cannot be read are tried again."""
        try:
            status = os.stat(name)
        except OSError:
            return read(name, encoding)
        key = os.path.realpath(name)
        state = [status.st_size, status.st_mtime_ns, encoding]
        kept = self.files.get(key)
        if kept is None or kept["state"] != state:
            found = read(name, encoding)
            kept = {"state": state, "text": found.text, "starts": found.starts}
            kept |= {"labels": found.labels, "guessed": found.guessed_encoding}
            self.files[key], self.is_changed = kept, True
        starts, labels = tuple(kept["starts"]), tuple(kept["labels"])
        return DocumentText(kept["text"], starts, labels, kept["guessed"])

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)

    def save(self, names: set[str]) -> None:
        """Keep what was read of these files; others are gone from the folder."""
        there = {os.path.realpath(name) for name in names}
        gone = self.files.keys() - there
        if not self.is_changed and not gone:
            return
        kept = {key: value for key, value in self.files.items() if key in there}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.parent.chmod(0o700)  # other users of the machine may not read the documents
            with atomic_text(self.path, private=True) as stream:
                json.dump({"format": _FORMAT, "files": kept}, stream)
        except (OSError, ReadletError) as error:  # what was read is still there to be asked about
            reason = disk_fault(error) if isinstance(error, OSError) else error
            warn_caller(f"the index is not kept: {reason}")
