"""Scorers of exported models: rows to padded arrays, arrays to scores, without torch."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from readlet.encoding.batches import Arrays
from readlet.encoding.rows import AnyRows, Ints, Rows
from readlet.errors import ReadletError, memory_reported
from readlet.families.family import Floats, SpanScores
from readlet.families.onnx_graph import OnnxGraph
from readlet.families.onnx_inputs import Inputs
from readlet.families.onnx_workers import Workers

if TYPE_CHECKING:
    from readlet.encoding.sentences import SentenceRows

Precision = Literal["float32", "int8"]
_SMALLER = "load the reader with a smaller batch_size, or free some memory"


@dataclass(frozen=True)
class Exported:
    """What is stored about an exported model besides its files."""

    graph: str  # SHA-256 of model.onnx
    parameters: int
    precision: Precision
    can_refuse: bool
    facts: tuple[str, ...]  # of the model before, for the card
    weights: tuple[str, ...] = ()  # those that the graph reads from the file of the model


@dataclass
class OnnxScorer:
    """A graph with the inputs that it reads."""

    architecture: ClassVar[str]

    graph: OnnxGraph
    inputs: Inputs
    exported: Exported
    workers: Workers = field(init=False)

    def __post_init__(self) -> None:
        self.workers = Workers(self.graph)

    @property
    def encoder(self) -> Any:
        return self.inputs.encoder

    @property
    def parameters(self) -> int:
        return self.exported.parameters

    def outputs(self, rows: AnyRows, batch_size: int) -> Iterator[tuple[Ints, Arrays, Arrays]]:
        """Row numbers (B,), what the graph reads of them and what it returns, batch by batch."""
        batches = self.inputs.batches(rows, min(batch_size, max(len(rows), 1)))

        def compute(graph: OnnxGraph, numbers: Ints) -> tuple[Ints, Arrays, Arrays]:
            given = batches.make(batches.least_shape(numbers), numbers, filled=False)
            return numbers, given, graph.run(given)

        with memory_reported(_SMALLER):
            yield from self.workers.each(batches, compute)

    def move_to(self, device: str) -> None:
        if device != "cpu":
            fault = f"device {device!r}: an exported model computes on the CPU"
            raise ReadletError(f"{fault}; leave it out, or give cpu")

    def save(self, folder: Path) -> list[str]:
        return [*self.graph.copy_to(folder), *self.inputs.save(folder)]

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
    def can_refuse(self) -> bool:
        return self.exported.can_refuse

    def config(self) -> dict[str, Any]:
        return super().config() | (self.with_torch or {})

    def facts(self) -> list[str]:
        if self.with_torch is None:
            return super().facts()
        return [*self.exported.facts, "- with a graph, for CPUs without torch"]

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
