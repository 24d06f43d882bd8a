"""A reader of several languages: trained, saved, slimmed, continued, and asked by language."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from readlet.data import write_examples
from readlet.errors import ReadletError
from readlet.inference.evaluate_questions import predict
from readlet.inference.reader import Reader
from readlet.inference.slimming import slim
from readlet.models.recipe_files import load_recipe, recipe_of
from readlet.nn.characters import FilmLanguage
from readlet.recipe.recipe import fields_without_effect
from readlet.training.train import train_reader
from readlet.training.training_data import prepare
from readlet.types import Example

Run = Callable[..., Any]

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
    assert isinstance(layer, FilmLanguage)
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
    assert found.prediction == alone


def test_a_slim_copy_distinguishes_them_too(reader: Reader, tmp_path: Path) -> None:
    made = slim(reader, 4)
    assert made.scorer.encoder.vocabulary.frozen == reader.scorer.encoder.vocabulary.frozen[:4]
    made.save(tmp_path / "slim")
    loaded = Reader.load(tmp_path / "slim")
    for language in ("en", "es"):
        answer = loaded.answer("Ada?", CONTEXT, language=language)
        assert answer == made.answer("Ada?", CONTEXT, language=language)
        assert answer.score == pytest.approx(
            reader.answer("Ada?", CONTEXT, language=language).score, abs=0.2
        )


def test_it_can_be_continued(folder: Path, small_training: list[str], tmp_path: Path) -> None:
    """Its languages come with it."""
    own = [change for change in small_training if not change.startswith(("model.", "words."))]
    recipe = load_recipe("finetune-qacnn", [*own, f"training.start={folder}", "training.epochs=1"])
    assert fields_without_effect(recipe) == []
    more = train_reader(recipe, tmp_path / "more", resume=False)
    assert recipe_of(more.recipe).words.languages == ("en", "es")
    assert more.scorer.encoder.vocabulary == Reader.load(folder).scorer.encoder.vocabulary
    assert isinstance(more.scorer.module.embedding.characters, FilmLanguage)


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


def test_fields_without_effect(small_training: list[str]) -> None:
    chosen = ["model.language_characters=added"]
    assert fields_without_effect(load_recipe("tiny", [*small_training, *chosen])) == [
        ("model.language_characters", "there are no words.languages")
    ]
    chosen = ["model.language_dropout=0.2"]
    assert fields_without_effect(load_recipe("tiny", [*small_training, *chosen])) == [
        ("model.language_dropout", 'model.language_characters is "none"')
    ]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ('words.languages=["en", "xx"]', "unknown language 'xx'; give codes such as en or es"),
        ('words.languages=["en", "en"]', "a language is given twice"),
        ("data.language=spanish", "unknown language 'spanish'; give a code such as en or es"),
        ("model.language_characters=both", "model.language_characters"),
    ],
)
def test_faults_of_the_recipe(change: str, fault: str) -> None:
    with pytest.raises(ReadletError) as caught:
        load_recipe("tiny", [change])
    assert fault in str(caught.value)


def test_the_command(readlet: Run, folder: Path, tmp_path: Path, reader: Reader) -> None:
    path = tmp_path / "passage.txt"
    path.write_text(CONTEXT, "utf-8")
    chosen = ("--language", "en", "--question-language", "es", "--json", "--reader", folder)
    done = readlet("ask", "Ada?", path, *chosen)
    answer = reader.answer("Ada?", CONTEXT, language="en", question_language="es")
    assert done.json()["score"] == pytest.approx(answer.score, abs=1e-6)
    done = readlet("ask", "Ada?", path, "--language", "xx", "--reader", folder)
    assert done.code == 2
    assert "language: 'xx' is unknown; give a code such as en or es" in done.err
