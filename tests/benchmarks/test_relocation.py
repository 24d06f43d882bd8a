"""The measures of relocation, and its goal on a part of XQuAD."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.augmentation.translation.apertium import Apertium
from readlet.augmentation.translation.batch_translator import BatchTranslator, Cache
from readlet.augmentation.translation.types import LanguagePair
from readlet.data import read_examples

ARTICLES = 5


def test_the_goal_is_reached_on_some_articles(
    real_data: Path, load_script: Callable[[str], Any], tmp_path: Path
) -> None:
    """At least 97 % kept, and 97 % of these right, by Apertium from English to Spanish."""
    engine, pair = Apertium(), LanguagePair("en", "es")
    if pair not in engine.pairs():
        pytest.skip("Apertium is not installed: apt install apertium-eng-spa")
    script = load_script("relocation")
    english = script.reported(list(read_examples(str(real_data / "xquad" / "xquad.en.json.gz"))))
    titles = list(dict.fromkeys(example.title for example in english))[:ARTICLES]
    some = [example for example in english if example.title in titles]
    pool = BatchTranslator(Cache(tmp_path / "cache.sqlite"), lambda _: engine)
    human = {example.id: "" for example in some}
    asked = list(script.questions(some, human, pool, (pair,)))
    if any(one.labels is None for one in asked):
        pytest.skip("another version of Apertium's dictionaries: the labels do not hold")
    spans = script.by_mode(asked, lambda text: pool.get(text, (pair,)).text)["mode verified"]
    kept = [(one, span) for one, span in zip(asked, spans, strict=True) if span.text]
    assert len(kept) >= 0.97 * len(asked)
    assert sum(one.is_labelled_right(span) for one, span in kept) >= 0.97 * len(kept)
