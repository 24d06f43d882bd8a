"""Recipes as files: found by name or path, changed by `--set`, checked, and written again."""

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from readlet.errors import ReadletError, bad_input
from readlet.recipe.kinds import DEFAULT_KIND, kind_in, known_kinds, recipe_class
from readlet.recipe.recipe import Recipe
from readlet.recipe.traits import fields_of
from readlet.storage.toml_files import nearest, read_toml, shipped_files

_IN_ALL_KINDS = ("data", "training")


def shipped_recipes() -> list[str]:
    """Names of the recipes that come with the package."""
    return list(shipped_files("recipe", "shipped"))


def load_recipe(source: str, changes: Iterable[str] = ()) -> Recipe:
    """A recipe by shipped name or file, with changes of the form `section.field=value`."""
    values = read_toml(source, shipped_files("recipe", "shipped"), "recipe")
    chosen: dict[str, Any] = {}
    for change in changes:
        apply_change(chosen, change)
    return parse_recipe(changed_values(values, chosen), source)


def recipe_toml(recipe: Recipe) -> str:
    """A file that `load_recipe` reads: the kind, and the fields that are not at their defaults."""
    lines = [f"name = {toml_value(recipe.name)}"]
    section = ""
    for field, usual in zip(fields_of(recipe), fields_of(type(recipe)), strict=True):
        if field.value == usual.value and field.path != "model.kind":
            continue
        if field.section != section:
            section = field.section
            lines += ["", f"[{section}]"]
        lines.append(f"{field.name} = {toml_value(field.value)}")
    return "\n".join(lines) + "\n"


def toml_value(value: Any) -> str:
    """JSON's texts, numbers, lists and booleans are TOML's too, but for how two texts are escaped.

    Pairs of surrogates stand as they are, and the one control character that JSON does not escape.
    """
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def explained_fields(kind: str = DEFAULT_KIND) -> Iterator[tuple[str, Any, str]]:
    """Every field of a kind as `--set` names it, its default, and the sentence under it."""
    name = recipe_class(kind).model_fields["name"]
    yield "name", name.default, _sentence(name)
    for field in fields_of(recipe_class(kind)):
        yield field.path, field.value, _sentence(field.info)


def _sentence(about: FieldInfo) -> str:
    return " ".join((about.description or "").split())  # it may take two lines in its file


def parse_recipe(values: Mapping[str, Any], source: str) -> Recipe:
    """The typed recipe, or one line about the first wrong field and what is allowed there."""
    of_kind = _class_for(kind_in(values), source)
    try:
        return of_kind.model_validate(values)
    except ValidationError as error:
        raise _complaint(error.errors()[0], source, of_kind) from None


def check_fields(values: Mapping[str, Any], source: str, *, kind: str = DEFAULT_KIND) -> None:
    """Complain about a part of a recipe: wrong names and values, each for itself.

    `kind` is that of the whole recipe, for a part that names none. Which fields go together only
    the whole recipe can tell.
    """
    of_kind = _class_for(kind_in(values, kind), source)
    try:
        of_kind.model_validate(values)
    except ValidationError as error:
        for fault in error.errors():
            if not _is_between_fields(fault):
                raise _complaint(fault, source, of_kind) from None


def _class_for(kind: str, source: str) -> type[Recipe]:
    try:
        return recipe_class(kind)
    except ReadletError as error:
        raise ReadletError(f"{source}: {error}") from None


def _is_between_fields(fault: ErrorDetails) -> bool:
    return fault["type"] == "value_error" and isinstance(fault["input"], dict)


def apply_change(values: dict[str, Any], change: str) -> None:
    """Put `section.field=value` into nested values, in place."""
    path, equals, text = change.partition("=")
    *sections, field = path.strip().split(".")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text  # a bare word needs no quotes
    # A whole section at once would take back what the recipe says of its other fields.
    if not equals or not field or (not sections and isinstance(value, dict)):
        raise ReadletError(f"--set {change}: write section.field=value")
    if len(sections) > 1 or sections == ["name"]:
        raise ReadletError(f"--set {change}: {sections[-1]!r} is not a section of the recipe")
    for section in sections:
        values = values.setdefault(section, {})
    values[field] = value


def changed_values(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Nested values of a recipe with changes.

    Changes may choose another kind of model. Of the values then only the data and the training
    stay, as far as that kind has these fields: the rest are numbers of the kind before.
    """
    before, now = kind_in(values), kind_in(changes, kind_in(values))
    kept = deepcopy(dict(values))
    if now != before and now in known_kinds():
        known = {(field.section, field.name) for field in fields_of(recipe_class(now))}
        kept = {
            section: {name: value for name, value in part.items() if (section, name) in known}
            for section, part in kept.items()
            if section in _IN_ALL_KINDS and isinstance(part, dict)
        } | {key: kept[key] for key in ("name",) if key in kept}
    return merge(kept, changes)


def merge(values: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Put changes into nested values, in place."""
    for key, value in changes.items():
        if isinstance(value, dict) and isinstance(values.get(key), dict):
            merge(values[key], value)
        else:
            values[key] = deepcopy(value)
    return values


def _complaint(first: ErrorDetails, source: str, of_kind: type[Recipe]) -> ReadletError:
    path = [str(part) for part in first["loc"]]
    # A tuple here is a list in TOML.
    fault = first["msg"].removeprefix("Value error, ").replace("valid tuple", "list, [...]")
    if first["type"] == "extra_forbidden":
        section: Any = of_kind
        for part in path[:-1]:
            section = section.model_fields[part].annotation
        kind = of_kind.model_validate({}).model.kind
        fault = f"no such field in a recipe of kind {kind!r}"
        remedy = nearest(path[-1], section.model_fields, "fields here")
    elif _is_between_fields(first):
        remedy = "change one of them"
    else:
        remedy = f"it is {first['input']!r:.60}"
    return bad_input(source, ".".join(path), fault, remedy)
