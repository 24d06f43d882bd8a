"""Kinds of models: `model.kind` in a recipe selects the class of the recipe.

A kind is one class decorated with `@register_recipe`. Kinds in this package are found
automatically; others, in a test for example, are registered when their module is imported.
"""

import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

from readlet.errors import ReadletError, bad_input
from readlet.recipe.recipe import Recipe
from readlet.storage.config_files import nearest

DEFAULT_KIND = "qacnn"
"""The kind of a recipe that does not name one."""
_REGISTERED: dict[str, type[Recipe]] = {}
_Class = TypeVar("_Class", bound=type[Recipe])


def register_recipe(cls: _Class) -> _Class:
    """Register a recipe class under the default value of its `model.kind`."""
    # Every field needs a default: a recipe lists only what it changes.
    kind = cls.model_validate({}).model.kind
    taken = _REGISTERED.setdefault(kind, cls)
    if taken is not cls:
        fault = f"kind {kind!r} is already used by {taken.__module__}.{taken.__qualname__}"
        raise ReadletError(f"{cls.__qualname__}: {fault}; choose another kind")
    return cls


def known_kinds() -> list[str]:
    _import_kinds_of_the_package()
    return list(_REGISTERED)


def recipe_class(kind: str) -> type[Recipe]:
    """The recipe class of a kind."""
    known = known_kinds()
    if kind not in known:
        fault = f"no such kind of model: {kind!r}"
        raise bad_input("model.kind", "", fault, nearest(str(kind), known, "known kinds"))
    return _REGISTERED[kind]


def kind_in(values: Mapping[str, Any], default: str = DEFAULT_KIND) -> Any:
    """The kind of model named in the nested values of a recipe, or of a part of one."""
    model = values.get("model")
    return model.get("kind", default) if isinstance(model, Mapping) else default


@cache
def _import_kinds_of_the_package() -> None:
    import readlet.recipe

    for module in pkgutil.iter_modules(readlet.recipe.__path__):
        import_module(f"readlet.recipe.{module.name}")
