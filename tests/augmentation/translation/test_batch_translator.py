import os
import signal
import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readlet.augmentation.translation.batch_translator import BatchTranslator
from readlet.augmentation.translation.cache import Cache
from readlet.augmentation.translation.types import (
    EngineError,
    LanguagePair,
    Link,
    Loss,
    Translation,
)
from readlet.errors import ReadletError

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
        self.failures = 0

    def pairs(self) -> Collection[LanguagePair]:
        return {THERE, BACK, ON}

    def version(self, pair: LanguagePair) -> str:
        return f"1 {pair}"

    def translate(self, sentences: Sequence[str], pair: LanguagePair) -> list[Translation]:
        if self.failures:
            self.failures -= 1
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
    filled = pool.fill(iter(TEXTS), (THERE,), total=len(TEXTS))
    assert (filled.sentences, filled.translated, filled.losses) == (4, 4, {})
    [batch] = engine.batches
    assert batch == sorted(batch, key=len)
    assert set(batch) == {"The lamp was lit.", "It burned, and burned.", "Who lit it?", "The end"}
    assert pool.fill(TEXTS, (THERE,)).translated == 0
    assert [path.name for path in cache.path.parent.iterdir() if "queue" in path.name] == []
    made = pool.get(TEXTS[0], (THERE,))
    assert made.text == "lit. was lamp The burned. and burned, It\n\n12.5 %\n\nit? lit Who"
    assert len(engine.batches) == 1


def test_positions_and_links_over_two_legs(engine: Backwards, cache: Cache) -> None:
    pool = BatchTranslator(cache, lambda pair: engine)
    assert pool.fill(TEXTS, (THERE, BACK)).translated == 8
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
    assert pool.fill(TEXTS, (LanguagePair("en", "fr"),)).translated == 4
    assert pool.get("The end", (LanguagePair("en", "fr"),)).text == "The end"
    with pytest.raises(ReadletError, match="backwards has no en-de"):
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


def test_text_that_has_no_encoding(engine: Backwards, cache: Cache) -> None:
    """JSON may hold half of a character."""
    pool = BatchTranslator(cache, lambda pair: engine)
    assert pool.fill(["One \ud83d two."], (THERE,)).translated == 1
    assert pool.get("One \ud83d two.", (THERE,)).text == "two. ? One"
    assert len(engine.batches) == 1


def test_losses_are_counted_and_go_no_further(engine: Backwards, cache: Cache) -> None:
    pool = BatchTranslator(cache, lambda pair: engine)
    filled = pool.fill(["There is silence. The end."], (THERE, BACK))
    assert filled.losses == {Loss.EMPTY: 1}
    assert filled.translated == 3
    made = pool.get("There is silence. The end.", (THERE, BACK))
    assert made.losses == (Loss.EMPTY,)
    assert made.text == " The end."
    assert made.sentences[0].loss is Loss.EMPTY


def test_an_engine_that_fails_twice_loses_one_batch(
    engine: Backwards, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("readlet.augmentation.translation.batch_translator._FIRST_BATCH", 1)
    texts = [f"Number {number} is here." for number in range(20)]
    pool = BatchTranslator(cache, lambda pair: engine)
    translate = engine.translate

    def failing(sentences: Sequence[str], pair: LanguagePair) -> list[Translation]:
        engine.failures = 2 if len(engine.batches) == 1 else engine.failures
        return translate(sentences, pair)

    engine.translate = failing  # type: ignore[method-assign]
    with pytest.raises(EngineError, match=r"died, twice; .* is in .*c\.sqlite: run it again"):
        pool.fill(texts, (THERE,))
    done = len(cache)
    assert 0 < done < 20
    engine.translate = translate  # type: ignore[method-assign]
    assert pool.fill(texts, (THERE,)).translated == 20 - done


_RUN = """
import os, signal, sys
from pathlib import Path
from readlet.augmentation.translation.cache import Cache
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
    assert [entry.name for entry in tmp_path.iterdir() if "queue" in entry.name] == []
