"""Recipes: shipped ones load, errors are reported in one line, `--set` changes are applied."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
import torch

from readlet.errors import ReadletError
from readlet.models.classifier.config import PoolerName
from readlet.models.classifier.recipe import ClassifierRecipe
from readlet.models.encoder.recipe import EncoderRecipe
from readlet.models.qacnn.network import QACNN
from readlet.models.qacnn.recipe import QacnnRecipe
from readlet.models.recipe_files import (
    explained_fields,
    load_recipe,
    parse_recipe,
    shipped_recipes,
)
from readlet.nn.layer_mix import make_layer_mix
from readlet.nn.pooling import POOLERS
from readlet.recipe.recipe import fields_without_effect

Run = Callable[..., Any]


def error_line(source: str, *changes: str) -> str:
    with pytest.raises(ReadletError) as caught:
        load_recipe(source, changes)
    line = str(caught.value)
    assert "\n" not in line
    return line


def test_shipped_recipes_are_listed() -> None:
    assert set(shipped_recipes()) >= {"qacnn", "qacnn-paper", "tiny"}


@pytest.mark.parametrize("name", shipped_recipes())
def test_every_shipped_recipe_loads(name: str) -> None:
    """It has its own name, builds a model, and is unchanged after storing and loading."""
    recipe = load_recipe(name)
    assert recipe.name == name
    assert parse_recipe(recipe.model_dump(), "stored") == recipe
    assert type(recipe).model_validate_json(recipe.model_dump_json()) == recipe
    if isinstance(recipe, QacnnRecipe):
        with torch.device("meta"):
            QACNN(recipe, torch.zeros(10, recipe.words.width), 3, 50)
    else:
        assert isinstance(recipe, (EncoderRecipe, ClassifierRecipe))
        make_layer_mix(recipe.model.mix, 8, 2)


def test_recipes_know_all_poolers() -> None:
    """They are listed twice: a recipe is read without torch."""
    assert get_args(PoolerName) == POOLERS


def test_hyperparameters_of_the_paper() -> None:
    recipe = load_recipe("qacnn-paper")
    data, words, model, training = recipe.data, recipe.words, recipe.model, recipe.training
    assert (data.max_context, data.max_question, data.max_answer) == (400, 50, 30)
    assert (words.max_characters, words.width, words.trainable_words) == (16, 300, 0)
    assert (model.character_width, model.character_kernel, model.character_filters) == (64, 5, 96)
    assert (model.width, model.highway_layers, model.feed_forward) == (96, 2, 96)
    assert (model.heads, model.head_width) == (5, 96)
    assert (model.embedding_convolutions, model.embedding_kernel) == (4, 7)
    assert (model.blocks, model.convolutions, model.kernel) == (7, 2, 7)
    assert (model.dropout, model.character_dropout, model.last_survival) == (0.1, 0.05, 0.9)
    assert (training.beta1, training.beta2, training.epsilon) == (0.8, 0.999, 1e-7)
    assert (training.learning_rate, training.warmup_steps) == (1e-3, 1000)
    assert training.schedule == "log"
    assert (training.clip, training.l2) == (5.0, 3e-7)
    assert (training.batch_size, training.epochs) == (32, 60)
    assert not model.match_features  # not in the paper


def test_size_of_the_model_of_the_paper() -> None:
    """About 2.05 million trainable parameters; the input has 300 + 96 features per word."""
    characters = 1_400  # about as many as the SQuAD articles have
    recipe = load_recipe("qacnn-paper")
    with torch.device("meta"):
        model = QACNN(recipe, torch.zeros(10, 300), 2, characters)
    assert model.embedding.project.in_features == 396
    trainable = sum(p.numel() for p in model.parameters() if p.requires_grad)
    assert trainable == pytest.approx(2.05e6, rel=0.01)


def test_recipe_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('\ufeffname = "mine"\r\n[training]\r\nepochs = 3\r\n', "utf-8")
    recipe = load_recipe(str(path), ["training.seed=4"])
    assert (recipe.name, recipe.training.epochs, recipe.training.seed) == ("mine", 3, 4)
    assert recipe.model == QacnnRecipe().model


@pytest.mark.parametrize(
    ("change", "section", "field", "value"),
    [
        ("training.epochs=3", "training", "epochs", 3),
        ("training.learning_rate=2e-4", "training", "learning_rate", 2e-4),
        ("training.learning_rate=1", "training", "learning_rate", 1.0),
        ("model.match_features=false", "model", "match_features", False),
        ("model.match_features=true", "model", "match_features", True),
        ('data.train=["a.json", "b.json"]', "data", "train", ("a.json", "b.json")),
        ("words.vectors=[]", "words", "vectors", ()),
        ("training.schedule=cosine", "training", "schedule", "cosine"),
        ('training.schedule="cosine"', "training", "schedule", "cosine"),
        ("data.dev=my data/dev=1.json", "data", "dev", "my data/dev=1.json"),
        ("data.dev=", "data", "dev", ""),
        (" training.epochs = 3 ", "training", "epochs", 3),
    ],
)
def test_set(change: str, section: str, field: str, value: object) -> None:
    recipe = load_recipe("tiny", [change])
    found = getattr(getattr(recipe, section), field)
    assert found == value
    assert type(found) is type(value)
    others = recipe.model_dump()
    del others[section][field]
    expected = load_recipe("tiny").model_dump()
    del expected[section][field]
    assert others == expected  # nothing else changed


def test_set_at_the_top_level_and_repeated() -> None:
    changes = ["name=mine", "training.epochs=3", "training.epochs=4", "training.seed=5"]
    recipe = load_recipe("tiny", changes)
    assert (recipe.name, recipe.training.epochs, recipe.training.seed) == ("mine", 4, 5)


@pytest.mark.parametrize(
    "change", ["training.epochs", "=3", "", "epochs 3", "training={epochs=3}", " data = {}"]
)
def test_set_without_a_value_or_a_field(change: str) -> None:
    assert error_line("tiny", change) == f"--set {change}: write section.field=value"


@pytest.mark.parametrize(
    ("change", "place", "near"),
    [
        ("training.epoch=3", "training.epoch", "epochs"),
        ("training.learning-rate=3", "training.learning-rate", "learning_rate"),
        ("model.witdh=3", "model.witdh", "width"),
        ("trainnig.epochs=3", "trainnig", "training"),
        ("word.width=3", "word", "words"),
    ],
)
def test_unknown_field(change: str, place: str, near: str) -> None:
    assert error_line("tiny", change) == (
        f"tiny: {place}: no such field in a recipe of kind 'qacnn'; did you mean {near!r}?"
    )


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ("training.epochs=0", "training.epochs"),
        ("training.epochs=2.5", "training.epochs"),
        ("training.learning_rate=nan", "training.learning_rate"),
        ("training.evaluate_every=inf", "training.evaluate_every"),
        ("training.precision=float8", "training.precision"),
        ("training.seed=4294967296", "training.seed"),
        ("training.teacher_temperature=0", "training.teacher_temperature"),
        ('training.teacher=["bundled", ""]', "training.teacher.1"),
        ("model.dropout=1.0", "model.dropout"),
        ("model.kernel=4", "model.kernel"),
        ("model.match_features=perhaps", "model.match_features"),
        ("data.max_context=5000", "data.max_context"),
        ("data.train=3", "data.train"),
        ("data.train=", "data.train"),
        ("data.folds=1", "data.folds"),
        ("data.folds=-1", "data.folds"),
        ("data.fold=1", "data"),
        ("data.columns=passage", "data.columns"),
        ("data.columns=['context=a', 'context=b']", "data.columns"),
        ("data.encoding=klingon", "data.encoding"),
        *((f"attention.gamma={given}", "attention.gamma") for given in ("0", "nan", "true", "'2'")),
    ],
)
def test_an_invalid_value_is_reported_with_its_place(change: str, place: str) -> None:
    assert error_line("tiny", change).startswith(f"tiny: {place}: ")


@pytest.mark.parametrize(("overlap", "longest"), [(16, 16), (300, 300), (301, 300)])
def test_windows_must_advance(overlap: int, longest: int) -> None:
    line = error_line("tiny", f"data.overlap={overlap}", f"data.max_context={longest}")
    assert line == (
        "tiny: data: data.overlap must be smaller than data.max_context; change one of them"
    )
    load_recipe("tiny", [f"data.overlap={longest - 1}", f"data.max_context={longest}"])


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ([], []),
        (["attention.gamma=1"], ["attention.gamma"]),
        (["attention.gamma=1", "attention.softmax=norm"], []),
        (["loss.gamma=1"], ["loss.gamma"]),
        (["training.teacher_share=0.9"], ["training.teacher_share"]),
        (["training.teacher_share=0.9", "training.teacher=bundled"], []),
        (["training.teacher_temperature=2"], ["training.teacher_temperature"]),
        (["training.teacher_temperature=2", 'training.teacher=["bundled"]'], []),
        (["training.restarts=2", "training.schedule=log"], ["training.restarts"]),
        (["training.restarts=2", "training.schedule=cosine"], []),
    ],
)
def test_fields_without_effect_are_found(changes: list[str], fields: list[str]) -> None:
    assert [field for field, _ in fields_without_effect(load_recipe("tiny", changes))] == fields


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"[training\nepochs = 3", "not valid TOML ("),
        (b"epochs", "not valid TOML ("),
        (b'name = "\xff"', "byte 8: not UTF-8 text"),
        (b"", "the file is empty"),
        (
            b"[training]\nepoch = 3\n",
            "training.epoch: no such field in a recipe of kind 'qacnn'; did",
        ),
        (b"[training]\nepochs = 0\n", "training.epochs: Input should be greater than"),
    ],
)
def test_bad_file(tmp_path: Path, content: bytes, fault: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(content)
    assert error_line(str(path)).startswith(f"{path}: {fault}")


def test_a_recipe_with_a_similar_name_is_suggested() -> None:
    assert error_line("tinny") == "tinny: no such recipe; did you mean 'tiny'?"


@pytest.mark.parametrize("source", ["missing.toml", ".", ""])
def test_no_such_recipe(source: str) -> None:
    line = error_line(source)
    known = ", ".join(shipped_recipes())
    assert line == f"{source}: no such recipe; give a TOML file or one of: {known}"


@pytest.mark.parametrize("kind", ["qacnn", "encoder", "classifier"])
def test_every_field_has_a_sentence(kind: str) -> None:
    wrong = [name for name, _, sentence in explained_fields(kind) if not sentence.endswith(".")]
    assert wrong == []


@pytest.mark.parametrize(("given", "taken"), [("inf", "infinity"), ("2", 2.0), ("1e-6", 1e-6)])
def test_gamma_can_be_a_number(given: str, taken: float | str) -> None:
    recipe = load_recipe("tiny", [f"attention.gamma={given}"])
    assert recipe.attention.gamma == taken
    assert QacnnRecipe.model_validate_json(recipe.model_dump_json()) == recipe


def test_a_list_may_be_given_as_one_text(tmp_path: Path) -> None:
    recipe = load_recipe("tiny", ["data.train=my.csv", "data.columns=context=passage"])
    assert recipe.data.train == ("my.csv",)
    assert recipe.data.data_format.columns == {"context": "passage"}
    path = tmp_path / "mine.toml"
    path.write_text('[data]\ntrain = "my.csv"\n[words]\nvectors = ""\n')
    assert load_recipe(str(path)).data.train == ("my.csv",)
    assert load_recipe(str(path)).model_dump()["words"]["vectors"] == ()
