"""Stored recipes of earlier versions."""

import json
from typing import Annotated, Any, Literal

import pytest

from readlet.errors import ReadletError
from readlet.recipe import kinds
from readlet.recipe.kinds import known_kinds, register_recipe
from readlet.recipe.qacnn import QacnnRecipe
from readlet.recipe.recipe import Model, Recipe
from readlet.recipe.recipe_files import load_recipe, parse_recipe
from readlet.recipe.traits import AddedLater, changed_fields
from readlet.recipe.upgrade import upgrade, without_later_fields


class GrownModel(Model):
    kind: Literal["grown"] = "grown"
    """A kind to which a field was added."""
    layers: Annotated[tuple[int, ...], AddedLater((1, 2))] = (3, 4)
    """Its default differs from the behaviour of older versions."""


class GrownRecipe(Recipe):
    model: GrownModel = GrownModel()


@pytest.fixture(autouse=True)
def register_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    known_kinds()
    monkeypatch.setattr(kinds, "_REGISTERED", dict(kinds._REGISTERED))
    register_recipe(GrownRecipe)


def test_a_recipe_from_before_there_were_kinds() -> None:
    values = load_recipe("tiny").model_dump(mode="json")
    del values["model"]["kind"], values["data"]["share"], values["training"]["track_softmax"]
    given = json.loads(json.dumps(values))
    assert parse_recipe(upgrade(values), "stored") == load_recipe("tiny")
    assert values == given  # not changed in place


@pytest.mark.parametrize(("stored", "now"), [("", []), ("runs/old", ["runs/old"])])
def test_a_single_teacher_becomes_a_list(stored: str, now: list[str]) -> None:
    values = load_recipe("tiny").model_dump(mode="json")
    values["training"]["teacher"] = stored
    assert upgrade(values)["training"]["teacher"] == now
    assert (
        changed_fields(upgrade(values), load_recipe("tiny", [f"training.teacher={stored}"])) == []
    )


def test_a_field_that_is_gone_may_stay_at_its_neutral_value() -> None:
    values = load_recipe("encoder").model_dump(mode="json")
    before = values | {"model": values["model"] | {"apart_layers": 0}}
    assert parse_recipe(upgrade(before), "stored") == load_recipe("encoder")
    values["model"]["apart_layers"] = 3
    with pytest.raises(ReadletError, match=r"model\.apart_layers"):
        parse_recipe(upgrade(values), "stored")


def test_an_added_field_gets_its_neutral_value_not_its_default() -> None:
    assert upgrade({"model": {"kind": "grown"}})["model"]["layers"] == [1, 2]
    assert upgrade({"model": {"kind": "grown", "layers": [9]}})["model"]["layers"] == [9]
    assert parse_recipe({"model": {"kind": "grown"}}, "new file").model.layers == (3, 4)


@pytest.mark.parametrize(
    "recipe",
    [
        QacnnRecipe(),
        load_recipe("tiny", ["data.share=0.5"]),
        GrownRecipe(),
        GrownRecipe(model=GrownModel(layers=(1, 2))),
    ],
)
def test_omitted_fields_are_restored(recipe: Recipe) -> None:
    left = without_later_fields(recipe)
    assert parse_recipe(upgrade(left), "stored") == recipe
    assert "track_softmax" not in left["training"]
    assert ("layers" in left["model"]) == (getattr(recipe.model, "layers", ()) == (3, 4))


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({"model": {"kind": "of tomorrow"}}, "no such kind of model: 'of tomorrow'"),
        ({"model": 3}, "model: Input should be"),
        ({"data": None}, "data: Input should be"),
    ],
)
def test_invalid_values_are_left_to_the_parser(values: dict[str, Any], fault: str) -> None:
    with pytest.raises(ReadletError, match=fault):
        parse_recipe(upgrade(values), "stored")
