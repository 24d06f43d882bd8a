"""Exported readers and classifiers: rows to arrays, arrays to scores. Nothing imports torch."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from readlet.errors import ReadletError, memory_reported
from readlet.models.family import Family, Floats, SpanScores
from readlet.models.onnx.model import MODEL, WEIGHTS, Inputs, OnnxModel, Workers
from readlet.recipe.recipe import Recipe, SpanData
from readlet.storage.stored_files import damage_of
from readlet.text.arrays import Arrays
from readlet.text.rows import AnyRows, Ints, Rows

if TYPE_CHECKING:
    from readlet.text.subwords import SentenceRows

Precision = Literal["float32", "int8"]
_SMALLER = "load the reader with a smaller batch_size, or free some memory"
_OF_TORCH = ("architecture", "null_answer", "stored")


@dataclass(frozen=True)
class Exported:
    """What is stored about an exported model besides its files."""

    graph: str  # SHA-256 of model.onnx, under the name that stored models have it
    parameters: int
    precision: Precision
    can_refuse: bool  # as stored
    facts: tuple[str, ...]  # of the model before, for the card
    weights: tuple[str, ...] = ()  # those that model.onnx reads from the file of the model in torch


@dataclass
class OnnxScorer:
    """An ONNX model with the inputs that it reads."""

    architecture: ClassVar[str]

    model: OnnxModel
    inputs: Inputs
    exported: Exported
    workers: Workers = field(init=False)

    def __post_init__(self) -> None:
        self.workers = Workers(self.model)

    @property
    def encoder(self) -> Any:
        return self.inputs.encoder

    @property
    def parameters(self) -> int:
        return self.exported.parameters

    def outputs(self, rows: AnyRows, batch_size: int) -> Iterator[tuple[Ints, Arrays, Arrays]]:
        """Row numbers (B,), what the model reads of them and what it returns, batch by batch."""
        batches = self.inputs.batches(rows, min(batch_size, max(len(rows), 1)))

        def compute(model: OnnxModel, numbers: Ints) -> tuple[Ints, Arrays, Arrays]:
            given = batches.make(batches.least_shape(numbers), numbers, filled=False)
            return numbers, given, model.run(given)

        with memory_reported(_SMALLER):
            yield from self.workers.each(batches, compute)

    def move_to(self, device: str) -> None:
        if device != "cpu":
            fault = f"device {device!r}: an exported model computes on the CPU"
            raise ReadletError(f"{fault}; leave it out, or give cpu")

    def save(self, folder: Path) -> list[str]:
        return [*self.model.copy_to(folder), *self.inputs.save(folder)]

    def config(self) -> dict[str, Any]:
        return {"architecture": self.architecture, "exported": asdict(self.exported)}

    def facts(self) -> list[str]:
        return [*self.exported.facts, f"- exported to ONNX, in {self.exported.precision}"]


@dataclass
class OnnxSpanScorer(OnnxScorer):
    """The scorer of an exported reader."""

    architecture = "onnx"

    max_answer: int
    # What config.json says for torch, if the folder has both forms.
    with_torch: dict[str, Any] | None = None

    @property
    def can_abstain(self) -> bool:
        return self.exported.can_refuse

    def config(self) -> dict[str, Any]:
        return super().config() | (self.with_torch or {})

    def facts(self) -> list[str]:
        if self.with_torch is None:
            return super().facts()
        return [*self.exported.facts, "- with an ONNX model, for CPUs without torch"]

    def scores(self, rows: Rows, batch_size: int) -> Iterator[tuple[Ints, SpanScores]]:
        for numbers, given, found in self.outputs(rows, batch_size):
            allowed = self.inputs.allowed(given)  # (B, L)
            yield numbers, SpanScores(found["start"], found["end"], allowed, found.get("null"))


@dataclass
class OnnxClassScorer(OnnxScorer):
    """The scorer of an exported classifier."""

    architecture = "onnx-classifier"

    def scores(self, rows: "SentenceRows", batch_size: int) -> Iterator[tuple[Ints, Floats]]:
        for numbers, _, found in self.outputs(rows, batch_size):
            scores: Floats = found["scores"]  # (B, outputs)
            yield numbers, scores


class OnnxReaderFamily(Family):
    """Loads exported readers."""

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
        model = OnnxModel.load(folder / MODEL, exported.graph, weights=weights, names=names)
        return OnnxSpanScorer(model, inputs, exported, data.max_answer, with_torch)


class OnnxClassifierFamily(Family):
    """Loads exported classifiers."""

    def load(self, folder: Path, recipe: Recipe, config: dict[str, Any]) -> OnnxScorer:
        exported = _exported(folder, config)
        with damage_of(folder / "config.json"):
            if recipe.model.kind != "classifier":
                raise ValueError(f"its recipe is of kind {recipe.model.kind!r}")
        inputs = _load_inputs(folder, recipe, null=False)
        return OnnxClassScorer(OnnxModel.load(folder / MODEL, exported.graph), inputs, exported)


def _exported(folder: Path, config: dict[str, Any]) -> Exported:
    with damage_of(folder / "config.json"):
        given = config["exported"]
        if not isinstance(given, dict):
            raise ValueError(f"exported: {given!r:.80}")
        # Two fields of earlier versions are gone; they were empty unless there was a second model.
        gone = ("first_layers", "first_weights")
        stored = {name: value for name, value in given.items() if value or name not in gone}
        lists = {name: tuple(stored.get(name, ())) for name in ("facts", "weights")}
        found = Exported(**stored | lists)
        kinds = {"graph": str, "parameters": int, "can_refuse": bool}
        wrong = [name for name, kind in kinds.items() if type(getattr(found, name)) is not kind]
        if wrong or found.precision not in get_args(Precision):
            raise ValueError(f"exported: {stored!r:.80}")
        if not all(isinstance(text, str) for text in (*found.facts, *found.weights)):
            raise ValueError("exported: a fact or a name is not text")
        return found


def _load_inputs(folder: Path, recipe: Recipe, *, null: bool) -> Inputs:
    """The inputs that `save` wrote; `damage_of` reports damaged files."""
    if recipe.model.kind == "qacnn":
        from readlet.models.qacnn.onnx_inputs import load_words

        return load_words(folder, recipe, null=null)
    # Tokenizers take time to import, and words need none.
    from readlet.models.pretrained.onnx_inputs import load_subwords

    return load_subwords(folder, recipe, null=null)
