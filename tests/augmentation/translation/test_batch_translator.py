"""Translations of a whole data set, and their cache on disk."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readlet.augmentation.translation.batch_translator import (
    BatchTranslator,
    Cache,
    composed,
    route_to,
)
from readlet.augmentation.translation.types import (
    EngineError,
    LanguagePair,
    Link,
    Loss,
    Translation,
    loss_of,
)
from readlet.errors import InputError, ReadletError

THERE, BACK = LanguagePair("en", "es"), LanguagePair("es", "en")
ON = LanguagePair("es", "fr")
TEXTS = [
    "The lamp was lit. It burned, and burned.\n\n12.5 %\n\nWho lit it?",
    "It burned, and burned.  The end",
    "",
    " \n",
]


class Backwards:
    """Turns the words of a sentence round, with their links; counts what it translates."""

    name = "backwards"
    has_links = True

    def __init__(self) -> None:
        self.batches: list[Sequence[str]] = []
        self.fails_after = 100

    def pairs(self) -> Collection[LanguagePair]:
        return {THERE, BACK, ON}

    def version(self, pair: LanguagePair) -> str:
        return f"1 {pair}"

    def translate(self, sentences: Sequence[str], pair: LanguagePair) -> list[Translation]:
        if len(self.batches) >= self.fails_after:
            raise EngineError("backwards: died")
        self.batches.append(sentences)
        return [self._translated(sentence) for sentence in sentences]

    def _translated(self, sentence: str) -> Translation:
        if "silence" in sentence:
            return Translation("", loss=Loss.EMPTY)
        words = sentence.split(" ")
        turned = words[::-1]
        links = tuple(
            Link(_range(words, number), _range(turned, len(words) - 1 - number))
            for number in range(len(words))
            if words[number]
        )
        return Translation(" ".join(turned), links)


def _range(words: Sequence[str], number: int) -> tuple[int, int]:
    start = len(" ".join(words[:number])) + (number > 0)
    return start, start + len(words[number])


@pytest.fixture
def engine() -> Backwards:
    return Backwards()


@pytest.fixture
def cache(tmp_path: Path) -> Any:
    with Cache(tmp_path / "c.sqlite") as made:
        yield made


def test_each_distinct_sentence_is_translated_once(engine: Backwards, cache: Cache) -> None:
    pool = BatchTranslator(cache, lambda pair: engine)
    assert pool.fill(iter(TEXTS), (THERE,)) == 4
    [batch] = engine.batches
    assert batch == sorted(batch, key=len)
    assert set(batch) == {"The lamp was lit.", "It burned, and burned.", "Who lit it?", "The end"}
    assert pool.fill(TEXTS, (THERE,)) == 0
    made = pool.get(TEXTS[0], (THERE,))
    assert made.text == "lit. was lamp The burned. and burned, It\n\n12.5 %\n\nit? lit Who"
    assert len(engine.batches) == 1


def test_positions_and_links_over_two_legs(engine: Backwards, cache: Cache) -> None:
    pool = BatchTranslator(cache, lambda pair: engine)
    assert pool.fill(TEXTS, (THERE, BACK)) == 8
    for text in TEXTS:
        made = pool.get(text, (THERE, BACK))
        assert made.text == text
        for pair in made.sentences:
            assert made.text[slice(*pair.target)] == text[slice(*pair.source)]
            for link in pair.links or ():
                assert link.source == link.target
    assert len(engine.batches) == 2


def test_a_pivot_shares_its_first_leg(engine: Backwards, cache: Cache) -> None:
    pool = BatchTranslator(cache, lambda pair: engine)
    pool.fill(TEXTS, (THERE,))
    assert pool.fill(TEXTS, (LanguagePair("en", "fr"),)) == 4
    assert pool.get("The end", (LanguagePair("en", "fr"),)).text == "The end"
    with pytest.raises(ReadletError, match="en-de"):
        pool.get("The end", (LanguagePair("en", "de"),))


@given(st.text("ab .!\n5é", max_size=60))
def test_what_stands_between_sentences_stays(text: str) -> None:
    with Cache(Path(":memory:")) as cache:
        made = BatchTranslator(cache, lambda pair: Backwards()).get(text, (THERE,))
    last_source = last_target = 0
    for pair in made.sentences:
        between = text[last_source : pair.source[0]]
        assert made.text[last_target : pair.target[0]] == between
        assert between.strip() == ""
        last_source, last_target = pair.source[1], pair.target[1]
    assert made.text[last_target:] == text[last_source:]


def test_losses_are_counted_and_go_no_further(engine: Backwards, cache: Cache) -> None:
    pool = BatchTranslator(cache, lambda pair: engine)
    assert pool.fill(["There is silence. The end."], (THERE, BACK)) == 3
    made = pool.get("There is silence. The end.", (THERE, BACK))
    assert made.losses == (Loss.EMPTY,)
    assert made.text == " The end."
    assert made.sentences[0].loss is Loss.EMPTY


def test_an_engine_that_fails_loses_one_batch(
    engine: Backwards, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("readlet.augmentation.translation.batch_translator._FIRST_BATCH", 1)
    texts = [f"Number {number} is here." for number in range(20)]
    pool = BatchTranslator(cache, lambda pair: engine)
    engine.fails_after = 1
    with pytest.raises(EngineError, match=r"died; .* is in .*c\.sqlite: run it again"):
        pool.fill(texts, (THERE,))
    done = len(cache)
    assert 0 < done < 20
    engine.fails_after = 100
    assert pool.fill(texts, (THERE,)) == 20 - done


_RUN = """
import os, signal, sys
from pathlib import Path
from readlet.augmentation.translation.batch_translator import Cache
from readlet.augmentation.translation.engines import engine_named
from readlet.augmentation.translation import batch_translator
from readlet.augmentation.translation.types import LanguagePair

batch_translator._FIRST_BATCH = batch_translator._LARGEST_BATCH = 1
engine, batches = engine_named(sys.argv[2]), []
translate = engine.translate

def killing(sentences, pair):
    batches.append(sentences)
    if len(batches) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return translate(sentences, pair)

engine.translate = killing
texts = [f"The fox has {n} boxes." for n in range(30)]
with Cache(Path(sys.argv[1])) as cache:
    translator = batch_translator.BatchTranslator(cache, lambda pair: engine)
    translator.fill(texts, (LanguagePair("en", "es"),))
"""


def test_a_killed_run_loses_one_batch(argos_package: Any, tmp_path: Path) -> None:
    package = argos_package("en", "es")
    environment = os.environ | {"READLET_CACHE": str(tmp_path / "cache")}
    path = tmp_path / "c.sqlite"
    command = [sys.executable, "-c", _RUN, str(path), str(package)]
    assert subprocess.run(command, env=environment, check=False).returncode == -signal.SIGKILL
    with Cache(path) as cache:
        assert len(cache) == 16  # two batches of the fewest sentences


PAIR = LanguagePair("en", "es")
MADE = [
    Translation("uno"),
    Translation("dos", (Link((0, 3), (0, 3)), Link((4, 70_000), (4, 9)))),
    Translation("", loss=Loss.EMPTY),
    Translation("cuatro ?", ()),
]
SENTENCES = ["one", "two", "three", "four ö"]


def test_what_was_stored_is_found(tmp_path: Path) -> None:
    with Cache(tmp_path / "c.sqlite") as cache:
        cache.put(cache.model("x", "1", PAIR), SENTENCES, MADE)
    with Cache(tmp_path / "c.sqlite") as cache:
        model = cache.model("x", "1", PAIR)
        assert cache.get(model, [*SENTENCES, "five"]) == dict(zip(SENTENCES, MADE, strict=True))
        for other in (("y", "1", PAIR), ("x", "2", PAIR), ("x", "1", LanguagePair("en", "fr"))):
            assert cache.get(cache.model(*other), SENTENCES) == {}


_WRITER = """
import sys
from pathlib import Path
from typing import Any
from readlet.augmentation.translation.batch_translator import Cache
from readlet.augmentation.translation.types import LanguagePair, Translation
with Cache(Path(sys.argv[1])) as cache:
    model = cache.model("x", "1", LanguagePair("en", "es"))
    for batch in range(20):
        texts = [f"{sys.argv[2]} {batch} {n}" for n in range(20)]
        cache.put(model, texts, [Translation(text) for text in texts])
    print("stored", flush=True)
    cache.connection.execute("BEGIN IMMEDIATE")
    cache.connection.execute("DELETE FROM translations")
    if sys.argv[3] == "killed":
        import os, signal
        os.kill(os.getpid(), signal.SIGKILL)
    cache.connection.execute("ROLLBACK")
"""


def test_two_processes_at_once_one_of_them_killed(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    commands = [
        [sys.executable, "-c", _WRITER, str(path), name, end]
        for name, end in (("a", "killed"), ("b", "ends"))
    ]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for command in commands]
    printed = [process.communicate()[0] for process in running]
    assert printed == [b"stored\n"] * 2
    assert [process.returncode for process in running] == [-9, 0]
    with Cache(path) as cache:
        assert len(cache) == 800


def test_files_that_are_no_cache(tmp_path: Path) -> None:
    """A text, another program's database, and a cache that was damaged in the middle."""
    text, other, damaged = (tmp_path / f"{name}.sqlite" for name in ("text", "other", "damaged"))
    text.write_text("This is a text, not a database, and a long one at that. " * 40)
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE songs (name)")
    sentences = [f"sentence {number}" for number in range(2000)]
    with Cache(damaged) as cache:
        model = cache.model("x", "1", PAIR)
        cache.put(model, sentences, [Translation(text) for text in sentences])
    data = bytearray(damaged.read_bytes())
    data[8192 : len(data) - 4096] = bytes([255]) * (len(data) - 12288)
    damaged.write_bytes(data)
    for path in (text, other, damaged):
        with pytest.raises(InputError) as error, Cache(path) as cache:
            cache.get(model, sentences)
        assert error.value.source == path
    assert text.read_text().startswith("This is")


def test_links_over_two_legs() -> None:
    first = (Link((0, 3), (5, 9)), Link((4, 8), (0, 4)))
    second = (Link((0, 4), (0, 2)), Link((5, 9), (3, 6)), Link((5, 9), (7, 8)))
    assert composed(first, second) == (
        Link((0, 3), (3, 6)),
        Link((0, 3), (7, 8)),
        Link((4, 8), (0, 2)),
    )
    assert composed(first, None) is None


def test_pivots() -> None:
    def pairs(*names: str) -> set[LanguagePair]:
        return {LanguagePair(*name.split("-")) for name in names}

    wanted = LanguagePair("fr", "de")
    there = pairs("fr-es", "es-de", "fr-en", "en-de")
    assert route_to(wanted, there | {wanted}) == (wanted,)
    assert route_to(wanted, there) == (LanguagePair("fr", "en"), LanguagePair("en", "de"))
    assert route_to(wanted, pairs("fr-es", "es-de")) is not None
    assert route_to(wanted, pairs("fr-es", "de-es")) is None


def test_losses() -> None:
    assert loss_of("Hello", " ") is Loss.EMPTY
    assert loss_of("", "") is None
    assert loss_of("A dog", "un perro " * 8) is Loss.REPEATED
    assert loss_of("One million", "1000000") is None
    assert loss_of("ha " * 20, "ja " * 20) is None
    assert loss_of("A long line", "Una línea larga y larga y larga") is None
