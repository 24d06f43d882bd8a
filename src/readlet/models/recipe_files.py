"""Recipes as files: loaded by name or path, changed by `--set`, validated and written."""

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from readlet.errors import ReadletError, bad_input
from readlet.models.kinds import DEFAULT_KIND, recipe_class, trainable_kinds
from readlet.recipe.recipe import Recipe, fields_of
from readlet.storage.sections import field_docs
from readlet.storage.stored_files import nearest, read_toml, shipped_files


def kind_in(values: Mapping[str, Any], default: str = DEFAULT_KIND) -> Any:
    """The kind of model named in the nested values of a recipe, or of a part of one."""
    model = values.get("model")
    return model.get("kind", default) if isinstance(model, Mapping) else default


_IN_ALL_KINDS = ("data", "training")
_GONE = frozenset(("track_softmax",))


def shipped_recipes() -> list[str]:
    """Names of the recipes that come with the package."""
    return list(shipped_files("recipe", "shipped"))


def load_recipe(source: str, changes: Iterable[str] = ()) -> Recipe:
    """A recipe by shipped name or file, with changes of the form `section.field=value`.

    >>> load_recipe("tiny", ["training.epochs=3"]).training.epochs
    3
    """
    values = read_toml(source, shipped_files("recipe", "shipped"), "recipe")
    chosen: dict[str, Any] = {}
    for change in changes:
        apply_change(chosen, change)
    return parse_recipe(changed_values(values, chosen), source)


def toml_value(value: Any) -> str:
    """JSON's strings, numbers, lists and booleans are valid TOML, with two differences in escaping.

    Non-ASCII characters are kept, because TOML has no surrogate pairs; and DEL, which JSON does not
    escape, is escaped.
    """
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def explained_fields(kind: str = DEFAULT_KIND) -> Iterator[tuple[str, Any, str]]:
    """Every field of a kind: its name for `--set`, its default and its description."""
    recipe = recipe_class(kind).model_validate({})
    yield "name", recipe.name, field_docs(type(recipe))["name"]
    docs = {name: field_docs(type(getattr(recipe, name))) for name in recipe.sections}
    for field in fields_of(recipe):
        yield field.path, field.value, docs[field.section][field.name]


def parse_recipe(values: Mapping[str, Any], source: str) -> Recipe:
    """The typed recipe, or a one-line error with the first invalid field and what is allowed."""
    of_kind = _class_for(kind_in(values), source)
    try:
        return of_kind.model_validate(values)
    except ValidationError as error:
        raise _field_error(error.errors()[0], source, of_kind) from None


def recipe_of(values: Mapping[str, Any]) -> Recipe:
    """The recipe stored with a model; that of an earlier version may have a field that is gone."""
    training = {k: v for k, v in values.get("training", {}).items() if k not in _GONE}
    return parse_recipe({**values, "training": training}, "its recipe")


def check_fields(values: Mapping[str, Any], source: str, *, kind: str = DEFAULT_KIND) -> None:
    """Check the names and values of a part of a recipe, each on its own.

    `kind` is the kind of the whole recipe, for a part that does not name one. Constraints between
    fields can be checked only on the whole recipe.
    """
    of_kind = _class_for(kind_in(values, kind), source)
    try:
        of_kind.model_validate(values)
    except ValidationError as error:
        for fault in error.errors():
            if not _is_between_fields(fault):
                raise _field_error(fault, source, of_kind) from None


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
    value = _value(text, change)
    # Setting a whole section would reset the other fields of that section.
    if not equals or not field or (not sections and isinstance(value, dict)):
        raise ReadletError(f"--set {change}: write section.field=value")
    if len(sections) > 1 or sections == ["name"]:
        raise ReadletError(f"--set {change}: {sections[-1]!r} is not a section of the recipe")
    for section in sections:
        values = values.setdefault(section, {})
        if not isinstance(values, dict):
            raise ReadletError(f"--set {change}: {section!r} was set to a single value before")
    values[field] = value


def _value(text: str, change: str) -> Any:
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        parsed = {"value": text}  # a bare word needs no quotes
        if "\n" in text or "\r" in text:
            parsed = {}
    except (ValueError, RecursionError):  # a number of too many digits, or nested too deeply
        raise ReadletError(f"--set {change:.60}...: not a value; give a shorter one") from None
    if list(parsed) != ["value"]:
        raise ReadletError(f"--set {change}: more than one line; repeat --set for each field")
    return parsed["value"]


def changed_values(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Nested values of a recipe with changes applied.

    Changes may select another kind of model. Then only the fields of data and training that the
    new kind has are kept: the other values belong to the previous kind.
    """
    before, now = kind_in(values), kind_in(changes, kind_in(values))
    kept = deepcopy(dict(values))
    if now != before and now in trainable_kinds():
        known = {(field.section, field.name) for field in fields_of(recipe_class(now))}
        kept = {
            section: {name: value for name, value in part.items() if (section, name) in known}
            for section, part in kept.items()
            if section in _IN_ALL_KINDS and isinstance(part, dict)
        } | {key: kept[key] for key in ("name",) if key in kept}
    return merge(kept, changes)


def merge(values: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Merge changes into nested values, in place."""
    for key, value in changes.items():
        if isinstance(value, dict) and isinstance(values.get(key), dict):
            merge(values[key], value)
        else:
            values[key] = deepcopy(value)
    return values


def _field_error(first: ErrorDetails, source: str, of_kind: type[Recipe]) -> ReadletError:
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
