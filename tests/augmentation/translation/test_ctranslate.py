from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from readlet.augmentation.translation.ctranslate import links_from_attention
from readlet.augmentation.translation.engines import engine_named, translator_for
from readlet.augmentation.translation.types import LanguagePair, Link, Loss
from readlet.errors import ReadletError

PAIR = LanguagePair("en", "es")


@pytest.fixture(scope="module")
def argos(
    argos_package: Callable[[str, str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("READLET_CACHE", str(tmp_path_factory.mktemp("cache")))
        return engine_named(str(argos_package("en", "es")))


@pytest.fixture(scope="module")
def marian(translation_models: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = translation_models.write_marian(tmp_path_factory.mktemp("m") / "opus-mt-es-en")
    return folder


def test_an_argos_package_translates_with_links(argos: Any) -> None:
    [made] = argos.translate(["The lazy  dog!"], PAIR)
    assert made.text == "tHE LAZY DOG!"
    words = [("The", "tHE"), ("lazy", "LAZY"), ("dog", "DOG"), ("!", "!")]
    assert [("The lazy  dog!"[slice(*s)], made.text[slice(*t)]) for s, t in made.links] == words
    assert set(argos.pairs()) == {PAIR}


def test_the_batch_changes_nothing(argos: Any) -> None:
    sentences = ["A fox", "The quick brown fox jumps over the dog.", "", "dog " * 12, "Five boxes"]
    together = argos.translate(sentences, PAIR)
    assert together == [argos.translate([sentence], PAIR)[0] for sentence in sentences]


def test_a_long_sentence_is_translated_whole(argos: Any) -> None:
    sentence = " ".join(f"box {number}, jug" for number in range(24))
    [made] = argos.translate([sentence], PAIR)
    assert made.text == sentence.swapcase()
    assert made.loss is None
    assert made.links[-1] == Link(
        (len(sentence) - 3, len(sentence)), (len(sentence) - 3, len(sentence))
    )


def test_a_marian_model(marian: Path) -> None:
    engine = engine_named(str(marian))
    pair = LanguagePair("es", "en")
    assert set(engine.pairs()) == {pair}
    assert engine.translate(["tHE dog, ö"], pair)[0].text == "The DOG, ö"
    with pytest.raises(ReadletError, match="en-es"):
        engine.translate(["a"], PAIR)


def test_a_translation_that_never_ends_is_a_loss(
    translation_models: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("readlet.augmentation.translation.ctranslate._LONGEST_OUTPUT", 40)
    folder = translation_models.write_marian(tmp_path / "endless-en-es", ends=False)
    [made] = engine_named(str(folder)).translate(["The dog"], PAIR)
    assert made.loss is Loss.REPEATED
    assert made.links is None


def test_a_package_for_each_direction(
    argos_package: Callable[[str, str], Path],
    marian: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("READLET_CACHE", str(tmp_path))
    both = f"{argos_package('en', 'es')},{marian}"
    assert translator_for(PAIR, both).name == "argos"
    assert translator_for(LanguagePair("es", "en"), both).name == "ctranslate2"
    assert translator_for(PAIR, both) is translator_for(PAIR, both)


def test_links_follow_attention_summed_over_pieces() -> None:
    # "red wine" in pieces red, wi, ne; "vino tinto" in pieces vino, tin, to.
    attention = np.array([[0.1, 0.45, 0.45], [0.6, 0.2, 0.2], [0.3, 0.5, 0.2]], np.float32)
    links = links_from_attention(
        attention, "red wine", [(0, 3), (4, 6), (6, 8)], "vino tinto", [(0, 4), (5, 8), (8, 10)]
    )
    # tinto: 0.6 + 0.3 for red against 0.4 + 0.7 for wine.
    assert links == (Link((4, 8), (0, 4)), Link((4, 8), (5, 10)))
