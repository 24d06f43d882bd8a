"""Upgrade stored recipes of earlier versions, and dump recipes so that new fields can be added."""

from collections.abc import Mapping
from typing import Any

from pydantic_core import to_jsonable_python

from readlet.recipe.kinds import DEFAULT_KIND, kind_in, known_kinds, recipe_class
from readlet.recipe.recipe import Recipe
from readlet.recipe.traits import fields_of, later_fields


def upgrade(values: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a stored recipe of any earlier version to the current one.

    Invalid values are kept, so that `parse_recipe` reports them.
    """
    new = dict(values)
    new |= {key: dict(part) for key, part in new.items() if isinstance(part, Mapping)}
    _set_default(new, "model", "kind", DEFAULT_KIND)
    if isinstance(model := new["model"], dict) and model.get("apart_layers") == 0:
        del model["apart_layers"]  # a field that is gone, at the value that stays possible
    if kind_in(new) in known_kinds():
        for field, neutral in later_fields(recipe_class(kind_in(new))):
            _set_default(new, field.section, field.name, to_jsonable_python(neutral))
        _make_lists(new)
    return new


def without_later_fields(recipe: Recipe) -> dict[str, Any]:
    """Dumped values without added fields at their neutral value; `upgrade` restores them."""
    values: dict[str, Any] = recipe.model_dump(mode="json")
    for field, neutral in later_fields(recipe):
        if field.value == neutral:
            del values[field.section][field.name]
    return values


def _make_lists(values: dict[str, Any]) -> None:
    """Earlier versions stored one text in fields that are lists now."""
    for field in fields_of(recipe_class(kind_in(values))):
        part = values.get(field.section)
        stored = part.get(field.name) if isinstance(part, dict) else None
        if isinstance(field.value, tuple) and isinstance(stored, str):
            values[field.section][field.name] = [stored] if stored else []


def _set_default(values: dict[str, Any], section: str, field: str, value: Any) -> None:
    part = values.setdefault(section, {})
    if isinstance(part, dict):
        part.setdefault(field, value)
