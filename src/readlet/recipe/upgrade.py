"""Stored recipes of earlier versions, and the form in which recipes outlast new fields."""

from collections.abc import Mapping
from typing import Any

from pydantic_core import to_jsonable_python

from readlet.recipe.kinds import DEFAULT_KIND, kind_in, known_kinds, recipe_class
from readlet.recipe.recipe import Recipe
from readlet.recipe.traits import later_fields


def upgrade(values: Mapping[str, Any]) -> dict[str, Any]:
    """A stored recipe of any earlier version as today's.

    What is wrong with it stays so, for `parse_recipe` to complain about.
    """
    new = dict(values)
    new |= {key: dict(part) for key, part in new.items() if isinstance(part, Mapping)}
    _set_default(new, "model", "kind", DEFAULT_KIND)
    if kind_in(new) in known_kinds():
        for field, neutral in later_fields(recipe_class(kind_in(new))):
            _set_default(new, field.section, field.name, to_jsonable_python(neutral))
    return new


def without_later_fields(recipe: Recipe) -> dict[str, Any]:
    """Dumped values without later fields that change nothing: `upgrade` brings them back."""
    values: dict[str, Any] = recipe.model_dump(mode="json")
    for field, neutral in later_fields(recipe):
        if field.value == neutral:
            del values[field.section][field.name]
    return values


def _set_default(values: dict[str, Any], section: str, field: str, value: Any) -> None:
    part = values.setdefault(section, {})
    if isinstance(part, dict):
        part.setdefault(field, value)
