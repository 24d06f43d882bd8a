"""Translates whole data sets: each distinct sentence once, in large batches.

Translations are kept on disk, in SQLite: safe from crashes, shared by processes.
"""

import hashlib
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from readlet.augmentation.translation.sentences import split_sentences
from readlet.augmentation.translation.types import (
    EngineError,
    LanguagePair,
    Link,
    Loss,
    Route,
    TranslatedText,
    Translation,
    Translator,
    joined,
    route_to,
)
from readlet.console import track
from readlet.errors import ReadletError, bad_input

_FORMAT = 1
_SECONDS = 60.0  # to wait for another process that writes
_ANOTHER = "give another file with --cache, or move this one away: its texts are translated again"
_TABLES = """
CREATE TABLE IF NOT EXISTS models (
    model INTEGER PRIMARY KEY, engine TEXT, version TEXT, pair TEXT,
    UNIQUE (engine, version, pair));
CREATE TABLE IF NOT EXISTS translations (
    model INTEGER, digest BLOB, text TEXT NOT NULL, links BLOB, loss TEXT,
    PRIMARY KEY (model, digest)) WITHOUT ROWID;
"""


class Cache:
    """A file of translations. Those of other model versions are never looked up."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self.faults_reported():
            self.connection = sqlite3.connect(path, timeout=_SECONDS, isolation_level="IMMEDIATE")
            try:
                self._prepare()
            except BaseException:
                self.connection.close()
                raise

    def _prepare(self) -> None:
        with self.connection:  # a transaction: another process may be making the tables
            self.connection.execute("BEGIN IMMEDIATE")
            version = self.connection.execute("PRAGMA user_version").fetchone()[0]
            tables = self.connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
            if version != _FORMAT and (version or tables):
                fault = "is another program's database, or a cache of another version"
                raise bad_input(self.path, "", fault, _ANOTHER)
            for command in _TABLES.split(";")[:-1]:
                self.connection.execute(command)
            self.connection.execute(f"PRAGMA user_version = {_FORMAT}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def model(self, engine: str, version: str, pair: LanguagePair) -> int:
        """The number under which translations of this model are stored."""
        names = (engine, version, str(pair))
        with self.faults_reported(), self.connection:
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
        with self.faults_reported(), self.connection:
            # Another process may have stored a translation first: that one stays.
            self.connection.executemany(
                "INSERT OR IGNORE INTO translations VALUES (?, ?, ?, ?, ?)", rows
            )

    @contextmanager
    def faults_reported(self) -> Iterator[None]:
        """Errors of file and disk become one line."""
        try:
            yield
        except sqlite3.Error as error:
            raise bad_input(self.path, "", f"no usable cache ({error})", _ANOTHER) from None

    def __len__(self) -> int:
        with self.faults_reported():
            return int(self.connection.execute("SELECT COUNT(*) FROM translations").fetchone()[0])


def digest_of(sentence: str) -> bytes:
    return hashlib.blake2b(sentence.encode("utf-8"), digest_size=16).digest()


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


# A batch is stored as a whole: it should take long enough that the engine's start does not matter,
# and be short enough that a killed run loses little.
_BATCH_SECONDS = 10.0
_FIRST_BATCH, _LARGEST_BATCH = 50_000, 2_000_000  # characters
_FEWEST = 8  # sentences in a batch


@dataclass(frozen=True, slots=True)
class _Leg:
    translator: Translator
    pair: LanguagePair
    model: int


class BatchTranslator:
    """Translations through a cache; `translator_for` chooses the engine of a pair."""

    def __init__(self, cache: Cache, translator_for: Callable[[LanguagePair], Translator]) -> None:
        self._cache = cache
        self._translator_for = translator_for
        self._known: dict[Route, list[_Leg]] = {}

    def fill(self, texts: Iterable[str], route: Route) -> int:
        """Translate the sentences of all texts along a route that are not cached yet.

        Returns the number of translations made, over all legs.
        """
        wanted, translated = list(dict.fromkeys(_wanted(texts))), 0
        for leg in self._legs(route):
            known = self._cache.texts(leg.model, wanted)
            # By length, so that batches have little padding.
            waiting = sorted((s for s in wanted if s not in known), key=lambda s: (len(s), s))
            for _ in track(self._worked_off(waiting, leg), len(waiting), f"translating {leg.pair}"):
                translated += 1
            made = self._cache.texts(leg.model, wanted).values()
            # What was lost is not translated further.
            wanted = list(dict.fromkeys(text for text, loss in made if text and loss is None))
        return translated

    def get(self, text: str, route: Route) -> TranslatedText:
        """The translation of a text; sentences that are not in the cache are translated now."""
        ranges = split_sentences(text)
        sentences = [storable(text[start:end]) for start, end in ranges]
        made = self._translated(sentences, self._legs(route))
        return joined(text, ranges, [made[sentence] for sentence in sentences])

    def has_links(self, route: Route) -> bool:
        """Whether translations along a route come with word alignments."""
        return all(leg.translator.has_links for leg in self._legs(route))

    def _legs(self, route: Route) -> list[_Leg]:
        if route not in self._known:
            self._known[route] = [leg for pair in route for leg in self._legs_of(pair)]
        return self._known[route]

    def _legs_of(self, pair: LanguagePair) -> Iterator[_Leg]:
        translator = self._translator_for(pair)
        direct = route_to(pair, translator.pairs())
        if direct is None:
            raise ReadletError(
                f"{translator.name} does not translate {pair}; choose another engine"
            )
        for leg in direct:
            version = translator.version(leg)
            yield _Leg(translator, leg, self._cache.model(translator.name, version, leg))

    def _worked_off(self, waiting: Sequence[str], leg: _Leg) -> Iterator[str]:
        """Yields each sentence after it was translated and stored."""
        place, characters = 0, _FIRST_BATCH
        while place < len(waiting):
            end, room = place, characters
            while end < len(waiting) and (room > 0 or end - place < _FEWEST):
                room -= len(waiting[end])
                end += 1
            batch = list(waiting[place:end])
            began = time.monotonic()
            self._make(leg, batch)
            seconds = time.monotonic() - began
            # At most twice as much as before: longer sentences may take longer.
            factor = min(2.0, max(0.25, _BATCH_SECONDS / max(seconds, 0.01)))
            characters = min(_LARGEST_BATCH, int(characters * factor))
            place = end
            yield from batch

    def _translated(self, sentences: Sequence[str], legs: Sequence[_Leg]) -> dict[str, Translation]:
        made = {sentence: Translation(sentence, _whole(sentence)) for sentence in sentences}
        for number, leg in enumerate(legs):
            going = {s: t for s, t in made.items() if t.loss is None and _has_words(t.text)}
            texts = list(dict.fromkeys(translation.text for translation in going.values()))
            found = self._cache.get(leg.model, texts)
            if missing := [text for text in texts if text not in found]:
                found |= self._make(leg, missing)
            for sentence, before in going.items():
                after = found[before.text]
                links = composed(before.links, after.links) if number else after.links
                made[sentence] = Translation(after.text, links, after.loss)
        return made

    def _make(self, leg: _Leg, sentences: list[str]) -> dict[str, Translation]:
        """Translate and store."""
        try:
            made = leg.translator.translate(sentences, leg.pair)
        except EngineError as error:
            safe = f"all that was translated is in {self._cache.path}"
            raise EngineError(f"{error}; {safe}: run it again to continue") from None
        self._cache.put(leg.model, sentences, made)
        return dict(zip(sentences, made, strict=True))


def _wanted(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        for start, end in split_sentences(text):
            sentence = storable(text[start:end])
            if _has_words(sentence):
                yield sentence


def _has_words(sentence: str) -> bool:
    """Numbers and symbols are not translated."""
    return any(map(str.isalpha, sentence))


def _whole(sentence: str) -> tuple[Link, ...]:
    return (Link((0, len(sentence)), (0, len(sentence))),)


def composed(
    first: tuple[Link, ...] | None, second: tuple[Link, ...] | None
) -> tuple[Link, ...] | None:
    """Links from the source of the first leg to the target of the second."""
    if first is None or second is None:
        return None
    found = {
        Link(one.source, two.target): None  # a dict keeps the order
        for one in first
        for two in second
        if max(one.target[0], two.source[0]) < min(one.target[1], two.source[1])
    }
    return tuple(found)
