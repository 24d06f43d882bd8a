"""The kinds of models by name: `model.kind` of a recipe, `architecture` of a stored model.

A new kind is a folder beside this module and an entry here. Kinds elsewhere, in a test for
example, call `register_kind`. Nothing is imported before it is used: networks need torch.
"""

from collections.abc import Callable
from pkgutil import resolve_name
from typing import TYPE_CHECKING, NamedTuple

from readlet.errors import ReadletError, bad_input, extra_needed
from readlet.storage.stored_files import nearest

if TYPE_CHECKING:
    from readlet.models.family import Family, TaskName, TrainableFamily
    from readlet.recipe.recipe import Recipe

DEFAULT_KIND = "qacnn"
"""The kind of a recipe that does not name one."""


class Kind(NamedTuple):
    """Where to import the parts of a kind of model from."""

    family: Callable[[], "Family"]
    recipe: Callable[[], "type[Recipe]"] | None = None
    """None: such models are not trained."""
    task: "TaskName" = "spans"
    needs_torch: bool = True
    """Otherwise its models compute on the CPU only."""


def _family(name: str) -> Callable[[], "Family"]:
    return lambda: resolve_name(f"readlet.models.{name}")()


def _recipe(name: str) -> Callable[[], "type[Recipe]"]:
    return lambda: resolve_name(f"readlet.models.{name}")


_QACNN = _family("qacnn.scorer:QacnnFamily"), _recipe("qacnn.recipe:QacnnRecipe")
_ENCODER = _family("encoder.scorer:EncoderFamily"), _recipe("encoder.recipe:EncoderRecipe")
_CLASSIFIER = (
    _family("classifier.scorer:ClassifierFamily"),
    _recipe("classifier.recipe:ClassifierRecipe"),
)
_ONNX = _family("onnx.scorer:OnnxFamily")
_KINDS = {
    "qacnn": Kind(*_QACNN),
    "encoder": Kind(*_ENCODER),
    "classifier": Kind(*_CLASSIFIER, "classes"),
    "onnx": Kind(_ONNX, needs_torch=False),
    "onnx-classifier": Kind(_ONNX, task="classes", needs_torch=False),
}


def register_kind(
    name: str,
    family: Callable[[], "Family"],
    recipe: "type[Recipe] | None" = None,
    *,
    task: "TaskName" = "spans",
) -> None:
    """Add a kind of model. Every field of its recipe has a default."""
    if name in _KINDS:
        raise ReadletError(f"kind of model {name!r} is already registered; choose another name")
    _KINDS[name] = Kind(family, None if recipe is None else lambda: recipe, task)


def trainable_kinds() -> list[str]:
    return [name for name, kind in _KINDS.items() if kind.recipe]


def recipe_class(kind: str) -> "type[Recipe]":
    """The recipe class of a kind."""
    make = _KINDS[kind].recipe if kind in trainable_kinds() else None
    if make is None:
        fault = f"no such kind of model: {kind!r}"
        remedy = nearest(str(kind), trainable_kinds(), "known kinds")
        raise bad_input("model.kind", "", fault, remedy)
    return make()


def kind_named(architecture: str) -> Kind:
    """The kind of a stored model: `architecture` in its config.json."""
    if architecture not in _KINDS:
        remedy = nearest(str(architecture), _KINDS, "known kinds")
        raise ReadletError(f"unknown kind of model {architecture!r}: {remedy}")
    return _KINDS[architecture]


def family_of(architecture: str) -> "Family":
    """The family that loads such a model."""
    kind = kind_named(architecture)
    with extra_needed("train", f"a model of kind {architecture!r}"):
        return kind.family()


def trainable_family(kind: str) -> "TrainableFamily":
    """The family that `model.kind` of a recipe names."""
    from readlet.models.family import TrainableFamily

    family = family_of(kind)
    if not isinstance(family, TrainableFamily):
        raise ReadletError(f"model.kind {kind!r}: cannot be trained; choose another kind")
    return family
