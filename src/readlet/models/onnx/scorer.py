"""Exported readers and classifiers: rows to arrays, arrays to scores. Nothing imports torch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from readlet.errors import ReadletError, memory_reported
from readlet.models.config import SpanConfig, config_of, kind_of_settings
from readlet.models.family import Family, Floats, SpanScores
from readlet.models.onnx.model import MODEL, WEIGHTS, Inputs, OnnxModel, Workers
from readlet.storage.sections import Section
from readlet.storage.stored_files import damage_of
from readlet.text.arrays import Arrays
from readlet.text.rows import AnyRows, Ints, Rows

if TYPE_CHECKING:
    from readlet.models.classifier.config import ClassifierConfig
    from readlet.text.subwords import SentenceRows

Precision = Literal["float32", "int8"]
_SMALLER = "load the reader with a smaller batch_size, or free some memory"


class Exported(Section):
    """What is stored about an exported model besides its files."""

    graph: str
    """SHA-256 of model.onnx, under its name in stored models."""
    parameters: int
    precision: Precision
    facts: tuple[str, ...]
    """Those of the original model, for the card."""
    weights: tuple[str, ...] = ()
    """Those that model.onnx reads from the weights of the torch model."""


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
        """Row numbers (B,), inputs and outputs of the model, batch by batch."""
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
        found = config_of(self.inputs.settings) | {
            "exported": self.exported.model_dump(mode="json")
        }
        return found if self.exported.weights else found | {"architecture": self.architecture}

    def facts(self) -> list[str]:
        if self.exported.weights:
            return [*self.exported.facts, "- with an ONNX model, for CPUs without torch"]
        return [*self.exported.facts, f"- exported to ONNX, in {self.exported.precision}"]


@dataclass
class OnnxSpanScorer(OnnxScorer):
    """The scorer of an exported reader."""

    architecture = "onnx"

    @property
    def settings(self) -> SpanConfig:
        assert isinstance(self.inputs.settings, SpanConfig)
        return self.inputs.settings

    @property
    def max_answer(self) -> int:
        return self.settings.max_answer

    @property
    def can_abstain(self) -> bool:
        return self.settings.null_answer

    def scores(self, rows: Rows, batch_size: int) -> Iterator[tuple[Ints, SpanScores]]:
        for numbers, given, found in self.outputs(rows, batch_size):
            allowed = self.inputs.allowed(given)  # (B, L)
            yield numbers, SpanScores(found["start"], found["end"], allowed, found.get("null"))


@dataclass
class OnnxClassScorer(OnnxScorer):
    """The scorer of an exported classifier."""

    architecture = "onnx-classifier"

    @property
    def metrics(self) -> Sequence[str]:
        settings: ClassifierConfig = self.inputs.settings  # type: ignore[assignment]
        return settings.metrics

    def scores(self, rows: "SentenceRows", batch_size: int) -> Iterator[tuple[Ints, Floats]]:
        for numbers, _, found in self.outputs(rows, batch_size):
            scores: Floats = found["scores"]  # (B, outputs)
            yield numbers, scores


class OnnxFamily(Family):
    """Loads exported readers and classifiers."""

    def load(self, folder: Path, config: dict[str, Any]) -> OnnxScorer:
        exported, inputs = _exported(folder, config), _load_inputs(folder, config)
        weights = folder / WEIGHTS if exported.weights else None
        model = OnnxModel.load(
            folder / MODEL, exported.graph, weights=weights, names=exported.weights
        )
        kind = OnnxSpanScorer if isinstance(inputs.settings, SpanConfig) else OnnxClassScorer
        return kind(model, inputs, exported)


def _exported(folder: Path, config: dict[str, Any]) -> Exported:
    with damage_of(folder / "config.json"):
        given = dict(config["exported"])
        # Fields of earlier versions: the first is in the settings, the others were empty unless
        # there was a second model.
        given.pop("can_refuse", None)
        for name in ("first_layers", "first_weights"):
            if not given.get(name):
                given.pop(name, None)
        return Exported.model_validate(given)


def _load_inputs(folder: Path, config: dict[str, Any]) -> Inputs:
    """The inputs that `save` wrote; `damage_of` reports damaged files."""
    with damage_of(folder / "config.json"):
        kind = kind_of_settings(config)
        if (kind == "classifier") != (config["architecture"] == OnnxClassScorer.architecture):
            raise ValueError(f"settings.kind: {kind!r:.40}")
    # Tokenizers take time to import, and words need none.
    if kind == "qacnn":
        from readlet.models.qacnn.onnx_inputs import load_words

        return load_words(folder, config)
    from readlet.models.pretrained.inputs import load_sentences, load_subwords

    return (load_sentences if kind == "classifier" else load_subwords)(folder, config)
