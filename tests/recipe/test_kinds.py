"""Kinds of models: each has its own recipe class, selected by `model.kind`."""

import subprocess
import sys
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from readlet.errors import ReadletError
from readlet.models import kinds
from readlet.models.kinds import family_of, recipe_class, register_kind
from readlet.models.qacnn.recipe import QacnnRecipe
from readlet.models.recipe_files import (
    check_fields,
    explained_fields,
    load_recipe,
    parse_recipe,
)
from readlet.recipe.recipe import Model, Recipe, Training, fields_of, fields_without_effect
from readlet.storage.sections import Section


class ToyModel(Model):
    kind: Literal["toy"] = "toy"
    """A toy."""
    layers: Annotated[int, Field(ge=1)] = 3
    """Layers of the toy."""


class Pooling(Section):
    by: str = "mean"
    """How tokens are pooled."""


class ToyTraining(Training):
    learning_rate: float = 3e-5
    """Peak learning rate."""


class ToyRecipe(Recipe):
    model: ToyModel = ToyModel()
    pooling: Pooling = Pooling()
    training: ToyTraining = ToyTraining()

    def without_effect_in_kind(self) -> list[tuple[str, str]]:
        return [("pooling.by", "there is one layer")] if self.model.layers == 1 else []


@pytest.fixture(autouse=True)
def register_toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "_KINDS", dict(kinds._KINDS))
    register_kind("toy", lambda: family_of("qacnn"), ToyRecipe)


def error_line(values: dict[str, Any]) -> str:
    with pytest.raises(ReadletError) as caught:
        parse_recipe(values, "mine")
    return str(caught.value)


def test_the_kind_selects_the_class() -> None:
    recipe = parse_recipe({"model": {"kind": "toy", "layers": 2}}, "mine")
    assert type(recipe) is ToyRecipe
    assert recipe.model == ToyModel(layers=2)
    assert recipe.training.learning_rate == 3e-5
    assert parse_recipe(recipe.model_dump(mode="json"), "stored") == recipe


def test_sections_are_in_order_with_training_last() -> None:
    assert ToyRecipe.sections == ("data", "model", "pooling", "training")
    assert QacnnRecipe().sections == ("data", "model", "words", "attention", "loss", "training")
    listed = [(section, name) for section, name, _, _ in fields_of(ToyRecipe)]
    assert listed[0] == ("data", "train")
    assert ("data", "max_context") not in listed  # it has no spans
    assert listed[-1] == ("training", "seed")
    values = {field.path: field.value for field in fields_of(ToyRecipe(pooling=Pooling(by="max")))}
    assert (values["pooling.by"], values["model.layers"]) == ("max", 3)


@pytest.mark.parametrize(
    ("values", "line"),
    [
        (
            {"model": {"kind": "toi"}},
            "mine: model.kind: no such kind of model: 'toi'; did you mean 'toy'?",
        ),
        (
            {"model": {"kind": "toy", "width": 8}},
            "mine: model.width: no such field in a recipe of kind 'toy'; fields here: kind, layers",
        ),
        (
            {"model": {"kind": "toy"}, "words": {}},
            "mine: words: no such field in a recipe of kind 'toy'; "
            "fields here: name, data, model, training, pooling",
        ),
        (
            {"model": {"layers": 3}},
            "mine: model.layers: no such field in a recipe of kind 'qacnn'; did you mean",
        ),
        ({"pooling": {}}, "mine: pooling: no such field in a recipe of kind 'qacnn'; fields here"),
        ({"model": {"kind": "toy", "layers": 0}}, "mine: model.layers: Input should be greater"),
        ({"model": {"kind": ["toy"]}}, "mine: model.kind: no such kind of model: ['toy']; "),
        ({"model": 3}, "mine: model: Input should be "),
    ],
)
def test_fields_of_another_kind_are_rejected(values: dict[str, Any], line: str) -> None:
    assert error_line(values).startswith(line)


def test_an_unknown_kind_is_reported_with_the_known_ones() -> None:
    with pytest.raises(ReadletError, match=r"'zzz'; known kinds: .*qacnn.*, toy$"):
        recipe_class("zzz")


def test_set_accepts_the_fields_of_the_selected_kind() -> None:
    """The file's data and training sections are kept; its other values belong to another kind."""
    changes = ["model.layers=2", "model.kind=toy"]
    recipe = load_recipe("tiny", changes)
    assert recipe.model == ToyModel(layers=2)
    assert (recipe.name, recipe.training.epochs) == ("tiny", 20)
    with pytest.raises(ReadletError, match=r"tiny: model\.width: no such field .* of kind 'toy'"):
        load_recipe("tiny", [*changes, "model.width=8"])
    with pytest.raises(ReadletError, match=r"tiny: model\.kind: no such kind of model: 'toyy'"):
        load_recipe("tiny", ["model.kind=toyy"])


def test_a_part_is_checked_against_the_kind_of_the_whole_recipe() -> None:
    part = {"model": {"layers": 2}}
    check_fields(part, "row", kind="toy")
    with pytest.raises(ReadletError, match=r"row: model\.layers: no such field .* 'qacnn'"):
        check_fields(part, "row")
    check_fields({"model": {"kind": "toy", "layers": 2}}, "row")


def test_the_fields_of_a_kind_are_described() -> None:
    described = {name: (default, text) for name, default, text in explained_fields("toy")}
    assert described["model.layers"] == (3, "Layers of the toy.")
    assert described["training.learning_rate"][0] == 3e-5
    assert described["name"][0] == "custom"
    assert "words.vectors" not in described
    assert "words.vectors" in {name for name, _, _ in explained_fields()}


def test_a_kind_reports_its_own_fields_without_effect() -> None:
    recipe = load_recipe(
        "tiny",
        ["model.kind=toy", "model.layers=1", "training.schedule=linear", "training.restarts=2"],
    )
    assert [field for field, _ in fields_without_effect(recipe)] == [
        "pooling.by",
        "training.restarts",
    ]


def test_no_module_of_the_package_imports_heavy_libraries() -> None:
    program = (
        "import sys; from readlet.models.kinds import trainable_kinds; print(trainable_kinds())\n"
        "import readlet.models.recipe_files\n"
        "print([name for name in ('torch', 'transformers') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    listed, heavy = done.stdout.splitlines()
    assert "'qacnn'" in listed  # although its module was not imported explicitly
    assert heavy == "[]"
