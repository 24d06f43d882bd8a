"""Kinds of models, one file each, behind one protocol."""

from collections.abc import Callable

from readlet.errors import ReadletError
from readlet.families.family import Family, TrainableFamily
from readlet.storage.config_files import nearest


def _qacnn() -> Family:
    from readlet.families.qacnn import QacnnFamily  # imports torch

    return QacnnFamily()


def _encoder() -> Family:
    from readlet.families.encoder import EncoderFamily  # imports torch

    return EncoderFamily()


def _classifier() -> Family:
    from readlet.families.classifier import ClassifierFamily  # imports torch

    return ClassifierFamily()


def _onnx_reader() -> Family:
    from readlet.families.onnx_scorer import OnnxReaderFamily

    return OnnxReaderFamily()


def _onnx_classifier() -> Family:
    from readlet.families.onnx_scorer import OnnxClassifierFamily

    return OnnxClassifierFamily()


_FAMILIES: dict[str, Callable[[], Family]] = {
    "qacnn": _qacnn,
    "encoder": _encoder,
    "classifier": _classifier,
    "onnx": _onnx_reader,
    "onnx-classifier": _onnx_classifier,
}


def register_family(kind: str, make: Callable[[], Family]) -> None:
    """Add a kind of model; its recipe is registered by `recipe.kinds.register_recipe`."""
    if kind in _FAMILIES:
        raise ReadletError(f"family {kind!r} is already registered; choose another name")
    _FAMILIES[kind] = make


def family_of(architecture: str) -> Family:
    """The family that loads a reader: `architecture` in its config.json."""
    if architecture not in _FAMILIES:
        remedy = nearest(str(architecture), _FAMILIES, "known kinds")
        raise ReadletError(f"unknown kind of model {architecture!r}: {remedy}")
    return _FAMILIES[architecture]()


def trainable_family(kind: str) -> TrainableFamily:
    """The family that `model.kind` of a recipe names."""
    family = family_of(kind)
    if not isinstance(family, TrainableFamily):
        raise ReadletError(f"model.kind {kind!r}: cannot be trained; choose another kind")
    return family
