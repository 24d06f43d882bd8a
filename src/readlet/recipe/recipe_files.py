"""Recipes as files: found by name or path, changed by `--set`, checked, and written again."""

import json
import tomllib
from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from readlet.errors import ReadletError, bad_input
from readlet.recipe.recipe import SECTIONS, Recipe
from readlet.storage.toml_files import nearest, read_toml, shipped_files


def shipped_recipes() -> list[str]:
    """Names of the recipes that come with the package."""
    return list(shipped_files("recipe", "shipped"))


def load_recipe(source: str, changes: Iterable[str] = ()) -> Recipe:
    """A recipe by shipped name or file, with changes of the form `section.field=value`."""
    values = read_toml(source, shipped_files("recipe", "shipped"), "recipe")
    for change in changes:
        apply_change(values, change)
    return parse_recipe(values, source)


def recipe_toml(recipe: Recipe) -> str:
    """A file that `load_recipe` reads: the fields that are not at their defaults."""
    usual = Recipe()
    lines = [f"name = {toml_value(recipe.name)}"]
    for section in SECTIONS:
        chosen, default = getattr(recipe, section), getattr(usual, section)
        changed = {
            field: getattr(chosen, field)
            for field in type(chosen).model_fields
            if getattr(chosen, field) != getattr(default, field)
        }
        if changed:
            lines += ["", f"[{section}]", *(f"{k} = {toml_value(v)}" for k, v in changed.items())]
    return "\n".join(lines) + "\n"


def toml_value(value: Any) -> str:
    """JSON's texts, numbers, lists and booleans are TOML's too, but for how two texts are escaped.

    Pairs of surrogates stand as they are, and the one control character that JSON does not escape.
    """
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def parse_recipe(values: dict[str, Any], source: str) -> Recipe:
    """The typed recipe, or one line about the first wrong field and what is allowed there."""
    try:
        return Recipe.model_validate(values)
    except ValidationError as error:
        raise _complaint(error.errors()[0], source) from None


def check_fields(values: dict[str, Any], source: str) -> None:
    """Complain about a part of a recipe: wrong names and values, each for itself.

    Which fields go together only the whole recipe can tell.
    """
    try:
        Recipe.model_validate(values)
    except ValidationError as error:
        for fault in error.errors():
            if not _is_between_fields(fault):
                raise _complaint(fault, source) from None


def _is_between_fields(fault: ErrorDetails) -> bool:
    return fault["type"] == "value_error" and isinstance(fault["input"], dict)


def apply_change(values: dict[str, Any], change: str) -> None:
    """Put `section.field=value` into nested values, in place."""
    path, equals, text = change.partition("=")
    *sections, field = path.strip().split(".")
    # A whole section at once would take back what the recipe says of its other fields.
    if not equals or not field or path.strip() in SECTIONS:
        raise ReadletError(f"--set {change}: write section.field=value")
    place = values
    for section in sections:
        place = place.setdefault(section, {})
        if not isinstance(place, dict):
            raise ReadletError(f"--set {change}: {section!r} is not a section of the recipe")
    try:
        place[field] = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        place[field] = text  # a bare word needs no quotes


def _complaint(first: ErrorDetails, source: str) -> ReadletError:
    path = [str(part) for part in first["loc"]]
    # A tuple here is a list in TOML.
    fault = first["msg"].removeprefix("Value error, ").replace("valid tuple", "list, [...]")
    if first["type"] == "extra_forbidden":
        section: Any = Recipe
        for part in path[:-1]:
            section = section.model_fields[part].annotation
        fault = "no such field"
        remedy = nearest(path[-1], section.model_fields, "fields here")
    elif _is_between_fields(first):
        remedy = "change one of them"
    else:
        remedy = f"it is {first['input']!r:.60}"
    return bad_input(source, ".".join(path), fault, remedy)
