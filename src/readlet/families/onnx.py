"""The families of exported models, for readers and for classifiers. Neither imports torch."""

from pathlib import Path
from typing import Any, get_args

from readlet.families.family import Family
from readlet.families.onnx_graph import GRAPH, OnnxGraph
from readlet.families.onnx_inputs import Inputs
from readlet.families.onnx_scorer import (
    Exported,
    OnnxClassScorer,
    OnnxScorer,
    OnnxSpanScorer,
    Precision,
)
from readlet.families.onnx_weights import WEIGHTS
from readlet.recipe.recipe import Recipe, SpanData
from readlet.storage.damage import damage_of

_OF_TORCH = ("architecture", "null_answer", "stored")


class OnnxReaderFamily(Family):
    """Loads exported readers."""

    needs_torch = False

    def load(self, folder: Path, recipe: Recipe, config: dict[str, Any]) -> OnnxScorer:
        exported = _exported(folder, config)
        with damage_of(folder / "config.json"):
            data = recipe.data
            if not isinstance(data, SpanData):
                raise ValueError(f"its recipe is of kind {recipe.model.kind!r}")
        inputs = _load_inputs(folder, recipe, null=exported.can_refuse)
        names, weights, with_torch = exported.weights, None, None
        if names:
            weights = folder / WEIGHTS
            with_torch = {name: config[name] for name in _OF_TORCH if name in config}
        graph = OnnxGraph.load(folder / GRAPH, exported.graph, weights=weights, names=names)
        return OnnxSpanScorer(graph, inputs, exported, data.max_answer, with_torch)


class OnnxClassifierFamily(Family):
    """Loads exported classifiers."""

    task = "classes"
    needs_torch = False

    def load(self, folder: Path, recipe: Recipe, config: dict[str, Any]) -> OnnxScorer:
        exported = _exported(folder, config)
        with damage_of(folder / "config.json"):
            if recipe.model.kind != "classifier":
                raise ValueError(f"its recipe is of kind {recipe.model.kind!r}")
        inputs = _load_inputs(folder, recipe, null=False)
        return OnnxClassScorer(OnnxGraph.load(folder / GRAPH, exported.graph), inputs, exported)


def _exported(folder: Path, config: dict[str, Any]) -> Exported:
    with damage_of(folder / "config.json"):
        given = config["exported"]
        if not isinstance(given, dict):
            raise ValueError(f"exported: {given!r:.80}")
        # Two fields of earlier versions are gone; they were empty unless there was a second graph.
        gone = ("first_layers", "first_weights")
        stored = {name: value for name, value in given.items() if value or name not in gone}
        lists = {name: tuple(stored.get(name, ())) for name in ("facts", "weights")}
        found = Exported(**stored | lists)
        kinds = {"graph": str, "parameters": int, "can_refuse": bool}
        wrong = [name for name, kind in kinds.items() if type(getattr(found, name)) is not kind]
        if wrong or found.precision not in get_args(Precision):
            raise ValueError(f"exported: {stored!r:.80}")
        if not all(isinstance(text, str) for text in (*found.facts, *found.weights)):
            raise ValueError("exported: a fact or a name is no text")
        return found


def _load_inputs(folder: Path, recipe: Recipe, *, null: bool) -> Inputs:
    """The inputs that `save` wrote; `damage_of` reports damaged files."""
    if recipe.model.kind == "qacnn":
        from readlet.families.onnx_words import load_words

        return load_words(folder, recipe, null=null)
    # Tokenizers take time to import, and words need none.
    from readlet.families.onnx_subwords import load_subwords

    return load_subwords(folder, recipe, null=null)
