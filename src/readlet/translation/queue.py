"""The distinct sentences of a data set that wait for translation: on disk, not in memory."""

import os
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from readlet.translation.cache import Cache, digest_of
from readlet.translation.types import Loss

_AT_ONCE = 10_000  # rows
_FEWEST, _MOST = 8, 20_000  # sentences in a batch
Wanted = tuple[int, str]
"""Place in the queue, and sentence."""


class Queue:
    """A file of its own next to the cache, for one process; it is gone when the process ends."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._connection = cache.connection

    @classmethod
    @contextmanager
    def beside(cls, cache: Cache) -> Iterator["Queue"]:
        path = Path(f"{cache.path}.queue-{os.getpid()}")
        with suppress(FileNotFoundError):
            path.unlink()  # of a killed process with the same number
        connection = cache.connection
        with cache.faults_reported():
            connection.execute("ATTACH ? AS queue", (str(path),))
            try:
                # A crash leaves nothing to recover.
                connection.execute("PRAGMA queue.journal_mode = OFF")
                connection.execute("PRAGMA queue.synchronous = OFF")
                connection.execute("PRAGMA queue.cache_size = -65536")  # KiB
                connection.create_function("digest_of", 1, digest_of, deterministic=True)
                connection.execute(
                    "CREATE TABLE queue.wanted (digest BLOB PRIMARY KEY, "
                    "sentence TEXT NOT NULL) WITHOUT ROWID"
                )
                with suppress(OSError):  # an open file stays usable, except on Windows
                    path.unlink()
                yield cls(cache)
            finally:
                with suppress(sqlite3.Error):
                    connection.execute("DETACH queue")
                with suppress(OSError):
                    path.unlink()

    def add(self, sentences: Iterable[str]) -> None:
        rows = ((digest_of(sentence), sentence) for sentence in sentences)
        while chunk := list(islice(rows, _AT_ONCE)):
            self._connection.execute("BEGIN")
            self._connection.executemany("INSERT OR IGNORE INTO queue.wanted VALUES (?, ?)", chunk)
            self._connection.execute("COMMIT")

    def __len__(self) -> int:
        return int(self._connection.execute("SELECT COUNT(*) FROM queue.wanted").fetchone()[0])

    def line_up(self, model: int) -> int:
        """Put those that the model has not translated in order of length; their number."""
        self._connection.execute("DROP TABLE IF EXISTS queue.line")
        self._connection.execute(
            "CREATE TABLE queue.line (place INTEGER PRIMARY KEY, sentence TEXT NOT NULL)"
        )
        self._connection.execute(
            "INSERT INTO queue.line (sentence) SELECT sentence FROM queue.wanted WHERE NOT EXISTS "
            "(SELECT 1 FROM main.translations AS made "
            "WHERE made.model = ? AND made.digest = wanted.digest) "
            "ORDER BY length(sentence), digest",
            (model,),
        )
        return int(self._connection.execute("SELECT COUNT(*) FROM queue.line").fetchone()[0])

    def after(self, place: int, characters: int) -> list[Wanted]:
        """The next sentences of the line, about so many characters."""
        rows = self._connection.execute(
            "SELECT place, sentence FROM queue.line WHERE place > ? ORDER BY place LIMIT ?",
            (place, _MOST),
        )
        batch: list[Wanted] = []
        for row in rows:
            batch.append(row)
            characters -= len(row[1])
            if characters <= 0 and len(batch) >= _FEWEST:
                break
        return batch

    def losses(self, model: int) -> Counter[Loss]:
        rows = self._connection.execute(
            "SELECT loss, COUNT(*) FROM queue.wanted JOIN main.translations USING (digest) "
            "WHERE model = ? AND loss IS NOT NULL GROUP BY loss",
            (model,),
        )
        return Counter({Loss(loss): count for loss, count in rows})

    def go_on(self, model: int) -> None:
        """What the model made of the sentences is wanted next; what was lost is not."""
        self._connection.execute("DROP TABLE IF EXISTS queue.next")
        self._connection.execute(
            "CREATE TABLE queue.next (digest BLOB PRIMARY KEY, "
            "sentence TEXT NOT NULL) WITHOUT ROWID"
        )
        self._connection.execute(
            "INSERT OR IGNORE INTO queue.next SELECT digest_of(text), text "
            "FROM queue.wanted JOIN main.translations USING (digest) "
            "WHERE model = ? AND loss IS NULL AND text <> ''",
            (model,),
        )
        self._connection.execute("DROP TABLE queue.wanted")
        self._connection.execute("ALTER TABLE queue.next RENAME TO wanted")
