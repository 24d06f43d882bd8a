"""A reader of several languages: trained, saved, slimmed, continued, and asked by language."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from readlet.data import write_examples
from readlet.errors import ReadletError
from readlet.inference.evaluate_files import predict
from readlet.inference.reader import Reader
from readlet.models.recipe_files import load_recipe, recipe_of
from readlet.nn.characters import CharacterConvolution
from readlet.recipe.recipe import fields_without_effect
from readlet.training.train import train_reader
from readlet.training.training_data import prepare
from readlet.types import Example

VECTORS = {"en": "the of who lamp a", "es": "el la de quién a", "de": "der die das wer"}
CONTEXT = "La lámpara de la casa fue encendida por Ada; the lamp was a gift."


@pytest.fixture(scope="module")
def changes(small_training: list[str], tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    path = tmp_path_factory.mktemp("vectors") / "merged.vec"
    torch.manual_seed(2)
    lines = [
        f"{code}:{word} {' '.join(f'{x:.3f}' for x in torch.randn(6).tolist())}\n"
        for code, listed in VECTORS.items()
        for word in listed.split()
    ]
    path.write_text("".join(lines), "utf-8")
    return [
        *small_training,
        *(
            f"words.vectors={path}",
            'words.languages=["en", "es"]',
            "model.language_characters=film",
        ),
        *("training.epochs=1", "training.batch_size=64", "training.learning_rate=0.01"),
    ]


@pytest.fixture(scope="module")
def folder(changes: Sequence[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "reader"
    train_reader(load_recipe("tiny", changes), folder, resume=False)
    return folder


@pytest.fixture(scope="module")
def reader(folder: Path) -> Reader:
    return Reader.load(folder)


def test_its_vocabulary_and_its_layer(reader: Reader, folder: Path) -> None:
    known = reader.scorer.encoder.vocabulary
    assert known.languages == ("en", "es")
    assert {"en:a", "es:a"} < set(known.frozen)
    assert "de:der" not in known.frozen
    assert {word.partition(":")[0] for word in known.trainable} >= {"en", "es"}
    layer = reader.scorer.module.embedding.characters
    assert isinstance(layer, CharacterConvolution)
    assert layer.languages.weight.shape == (3, 2 * 8)
    assert (layer.languages.weight.abs().sum(dim=1) > 0).all()  # each was trained
    assert "languages: en, es" in (folder / "README.md").read_text("utf-8")
    assert json.loads((folder / "vocabulary.json").read_text("utf-8"))["languages"] == ["en", "es"]


def test_the_language_of_a_text_changes_its_scores(reader: Reader) -> None:
    def asked(**languages: str) -> float:
        return reader.answer("Ada?", CONTEXT, **languages).score

    spanish = asked(language="es")
    assert asked() == spanish  # it is guessed, and the question's follows
    assert len({spanish, asked(language="en"), asked(language="de")}) == 3
    assert asked(question_language="en") != spanish
    assert asked(language="de") == asked(language="fr")  # both unknown to it
    with pytest.raises(ReadletError, match="language: 'xx' is unknown; give a code such as en"):
        asked(language="xx")


def test_languages_in_dicts_and_data_count(reader: Reader) -> None:
    alone = reader.answer("Ada?", CONTEXT, language="en", question_language="es")
    asked = {"question": "Ada?", "context": CONTEXT, "language": "en", "question_language": "es"}
    assert list(reader.answer_batch([asked])) == [alone]
    example = Example("7", "Ada?", CONTEXT, language="en", question_language="es")
    assert predict(reader, [example]) == {"7": alone}
    (found,) = reader.answer_any("Ada?", [CONTEXT], language="en", question_language="es")
    assert [c.text for c in found.prediction.n_best] == [c.text for c in alone.n_best]
    assert found.prediction.unknown_language == alone.unknown_language


def test_it_can_be_continued(folder: Path, small_training: list[str], tmp_path: Path) -> None:
    """Its languages come with it."""
    own = [change for change in small_training if not change.startswith(("model.", "words."))]
    recipe = load_recipe("finetune-qacnn", [*own, f"training.start={folder}", "training.epochs=1"])
    assert fields_without_effect(recipe) == []
    more = train_reader(recipe, tmp_path / "more", resume=False)
    assert recipe_of(more.recipe).words.languages == ("en", "es")
    assert more.scorer.encoder.vocabulary == Reader.load(folder).scorer.encoder.vocabulary
    assert more.scorer.module.embedding.characters.language == "film"


def test_the_recipe_may_give_the_languages(changes: list[str], tmp_path: Path) -> None:
    own = [
        Example("own", "Ada?", CONTEXT, (), True, language="en", question_language="en"),
        Example("none", "Ada?", CONTEXT, (), True),
        Example("other", "Ada?", "Ada.", (), True),
    ]
    path = tmp_path / "own.jsonl"
    write_examples(path, own)
    more = [f"data.train={path}", f"data.dev={path}", "data.held_out=0.4"]
    given = [*more, "data.language=es", "data.question_language=en"]
    dev = prepare(load_recipe("tiny", [*changes, *given])).dev
    assert dev.examples == [
        own[0],
        replace(own[1], language="es", question_language="en"),
        replace(own[2], language="es", question_language="en"),
    ]
    guessed = prepare(load_recipe("tiny", [*changes, *more])).dev  # not the rows in the cache
    assert guessed.examples == own
    assert not np.array_equal(dev.rows.form_languages, guessed.rows.form_languages)
