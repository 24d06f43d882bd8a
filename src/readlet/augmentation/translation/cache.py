"""Translations on disk, in SQLite: safe from crashes, shared by processes."""

import hashlib
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from readlet.augmentation.translation.types import LanguagePair, Link, Loss, Translation
from readlet.errors import ReadletError, bad_input

_FORMAT = 1
_SECONDS = 60.0  # to wait for another process that writes
_TABLES = """
CREATE TABLE IF NOT EXISTS models (
    model INTEGER PRIMARY KEY, engine TEXT, version TEXT, pair TEXT,
    UNIQUE (engine, version, pair));
CREATE TABLE IF NOT EXISTS translations (
    model INTEGER, digest BLOB, text TEXT NOT NULL, links BLOB, loss TEXT,
    PRIMARY KEY (model, digest)) WITHOUT ROWID;
"""


class Cache:
    """A file of translations. One of another model version is simply not found."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self.faults_reported():
            self.connection = sqlite3.connect(path, timeout=_SECONDS, isolation_level=None)
            try:
                self._prepare()
            except BaseException:
                self.connection.close()
                raise

    def _prepare(self) -> None:
        # In one transaction: another process may be making the tables.
        self.connection.execute("BEGIN")
        version = self.connection.execute("PRAGMA user_version").fetchone()[0]
        tables = self.connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
        self.connection.execute("COMMIT")
        if version not in (0, _FORMAT):
            raise bad_input(
                self.path, "", f"is a cache of format {version}", "give another file with --cache"
            )
        if version == 0 and tables:
            raise bad_input(
                self.path, "", "is another program's database", "give another file with --cache"
            )
        self._log_first()
        self.connection.execute("PRAGMA synchronous = NORMAL")
        self.connection.execute("PRAGMA cache_size = -65536")  # KiB
        with self.transaction():
            for command in _TABLES.split(";")[:-1]:
                self.connection.execute(command)
            self.connection.execute(f"PRAGMA user_version = {_FORMAT}")

    def _log_first(self) -> None:
        """The log outlives a killed process, and readers do not wait for the one that writes."""
        deadline = time.monotonic() + _SECONDS
        while True:
            try:
                self.connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:  # SQLite does not wait by itself here
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def __enter__(self) -> "Cache":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.connection.close()

    def model(self, engine: str, version: str, pair: LanguagePair) -> int:
        """The number under which translations of this model are stored."""
        names = (engine, version, str(pair))
        with self.faults_reported(), self.transaction():
            self.connection.execute(
                "INSERT OR IGNORE INTO models (engine, version, pair) VALUES (?, ?, ?)", names
            )
            row = self.connection.execute(
                "SELECT model FROM models WHERE engine = ? AND version = ? AND pair = ?", names
            ).fetchone()
        return int(row[0])

    def get(self, model: int, sentences: Iterable[str]) -> dict[str, Translation]:
        """The translations that are stored."""
        rows = self._rows(model, sentences, "text, loss, links")
        return {s: Translation(r[0], _links(r[2]), r[1] and Loss(r[1])) for s, r in rows}

    def texts(self, model: int, sentences: Iterable[str]) -> dict[str, tuple[str, Loss | None]]:
        """The same without links, which would take far more memory than the texts."""
        rows = self._rows(model, sentences, "text, loss")
        return {s: (r[0], r[1] and Loss(r[1])) for s, r in rows}

    def _rows(
        self, model: int, sentences: Iterable[str], columns: str
    ) -> Iterator[tuple[str, tuple[Any, ...]]]:
        query = f"SELECT {columns} FROM translations WHERE model = ? AND digest = ?"
        with self.faults_reported():
            for sentence in sentences:
                row = self.connection.execute(query, (model, digest_of(sentence))).fetchone()
                if row is not None:
                    yield sentence, row

    def put(
        self, model: int, sentences: Sequence[str], translations: Sequence[Translation]
    ) -> None:
        """Store a batch: all of it or, if the process is killed, nothing."""
        rows = [
            (model, digest_of(sentence), storable(made.text), _bytes(made.links), made.loss)
            for sentence, made in zip(sentences, translations, strict=True)
        ]
        with self.faults_reported(), self.transaction():
            # Another process may have stored a translation first: that one stays.
            self.connection.executemany(
                "INSERT OR IGNORE INTO translations VALUES (?, ?, ?, ?, ?)", rows
            )

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self.connection.in_transaction:  # a full disk may have ended it
                self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    @contextmanager
    def faults_reported(self) -> Iterator[None]:
        """Faults of file and disk as errors of one line."""
        try:
            yield
        except sqlite3.Error as error:
            raise _fault(self.path, error) from None

    def __len__(self) -> int:
        with self.faults_reported():
            return int(self.connection.execute("SELECT COUNT(*) FROM translations").fetchone()[0])


def digest_of(sentence: str) -> bytes:
    return hashlib.blake2b(sentence.encode("utf-8"), digest_size=16).digest()


def _fault(path: Path, error: sqlite3.Error) -> ReadletError:
    text = str(error)
    if "full" in text:
        return ReadletError(f"{path}: the disk is full; free some space and run it again")
    if "locked" in text or "busy" in text:
        fault = f"another process has locked it for {_SECONDS:.0f} seconds"
        return bad_input(path, "", fault, "wait for it, or give another file with --cache")
    if "unable to open" in text or "readonly" in text or "disk I/O" in text:
        fault = f"cannot be opened and written ({text})"
        return bad_input(path, "", fault, "give another file with --cache")
    fault = f"the cache is damaged ({text})"
    return bad_input(path, "", fault, "move it away; its texts are then translated again")


def storable(text: str) -> str:
    """The text with a question mark for each unpaired surrogate: these have no UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _bytes(links: tuple[Link, ...] | None) -> bytes | None:
    if links is None:
        return None
    return np.asarray([(*link.source, *link.target) for link in links], "<u4").tobytes()


def _links(data: bytes | None) -> tuple[Link, ...] | None:
    if data is None:
        return None
    numbers = np.frombuffer(data, "<u4").reshape(-1, 4).tolist()
    return tuple(Link((a, b), (c, d)) for a, b, c, d in numbers)
