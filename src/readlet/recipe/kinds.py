"""Kinds of models: `model.kind` in a recipe chooses the class that the recipe has.

A kind is one class with `@register_recipe` above it. Those in files beside this one are found by
themselves; others, of a test for example, are known once their module is imported.
"""

import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

from readlet.errors import ReadletError, bad_input
from readlet.recipe.recipe import Recipe
from readlet.storage.toml_files import nearest

DEFAULT_KIND = "qacnn"
"""The kind of a recipe that names none."""
_REGISTERED: dict[str, type[Recipe]] = {}
_Class = TypeVar("_Class", bound=type[Recipe])


def register_recipe(cls: _Class) -> _Class:
    """Make a recipe class known under the kind that is the default of its `model.kind`."""
    # Every field needs a default: a recipe names only what it changes.
    kind = cls.model_validate({}).model.kind
    taken = _REGISTERED.setdefault(kind, cls)
    if taken is not cls:
        fault = f"kind {kind!r} is that of {taken.__module__}.{taken.__qualname__}"
        raise ReadletError(f"{cls.__qualname__}: {fault}; give its model another kind")
    return cls


def known_kinds() -> list[str]:
    _import_kinds_of_the_package()
    return list(_REGISTERED)


def recipe_class(kind: str) -> type[Recipe]:
    """The class of the recipes of a kind."""
    known = known_kinds()
    if kind not in known:
        fault = f"no such kind of model: {kind!r}"
        raise bad_input("model.kind", "", fault, nearest(str(kind), known, "known kinds"))
    return _REGISTERED[kind]


def kind_in(values: Mapping[str, Any], default: str = DEFAULT_KIND) -> Any:
    """What nested values of a recipe, or a part of one, name as the kind of model."""
    model = values.get("model")
    return model.get("kind", default) if isinstance(model, Mapping) else default


@cache
def _import_kinds_of_the_package() -> None:
    import readlet.recipe

    for module in pkgutil.iter_modules(readlet.recipe.__path__):
        import_module(f"readlet.recipe.{module.name}")
