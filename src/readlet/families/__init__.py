"""Kinds of models, one file each, behind one protocol."""

from collections.abc import Callable

from readlet.errors import ReadletError
from readlet.families.family import Family
from readlet.storage.toml_files import nearest


def _qacnn() -> Family:
    from readlet.families.qacnn import QacnnFamily  # imports torch

    return QacnnFamily()


_FAMILIES: dict[str, Callable[[], Family]] = {"qacnn": _qacnn}


def register_family(kind: str, make: Callable[[], Family]) -> None:
    """Add a kind of model; its recipe is registered by `recipe.kinds.register_recipe`."""
    if kind in _FAMILIES:
        raise ReadletError(f"family {kind!r} is already registered; choose another name")
    _FAMILIES[kind] = make


def family_of(kind: str) -> Family:
    """The family that `model.kind` of a recipe names."""
    if kind not in _FAMILIES:
        raise ReadletError(f"model.kind {kind!r}: {nearest(kind, _FAMILIES, 'known kinds')}")
    return _FAMILIES[kind]()
