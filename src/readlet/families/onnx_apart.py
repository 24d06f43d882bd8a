"""Two graphs of a reader whose first layers read question and passage apart.

One has these layers: it is run for the question, and for a passage that is not kept. The other one
reads both.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from readlet.encoding.apart_arrays import passage_position, window_keys, window_tables
from readlet.encoding.batches import Arrays
from readlet.encoding.remembered import Remembered
from readlet.encoding.subwords import SubwordEncoder
from readlet.families.family import Floats
from readlet.families.kept_passages import kept_passages
from readlet.families.onnx_graph import Graph, OnnxGraph

FIRST_LAYERS = "first_layers.onnx"


@dataclass
class ApartGraph:
    """Both graphs as one. Copies for other threads share what is kept."""

    first: OnnxGraph
    others: Graph
    encoder: SubwordEncoder
    kept: Remembered[bytes, Floats] = field(init=False)

    def __post_init__(self) -> None:
        self.kept = kept_passages(self._read)

    def run(self, arrays: Arrays) -> Arrays:
        """The scores of a batch, from the arrays of `encoding/apart_arrays.py`."""
        tokens, keep = arrays["passage_tokens"], arrays["passage_keep"]  # (B, P) each
        states = self.kept(window_keys(tokens, keep, self.encoder.layout), self._read)
        layers, _, width = states[0].shape
        passage = np.zeros((len(states), layers, keep.shape[1], width), np.float32)  # (B, K, P, H)
        for i, one in enumerate(states):
            passage[i, :, : one.shape[1]] = one
        asked = {name: arrays[f"question_{name}"] for name in ("tokens", "types", "keep")}
        question = self._first_states(asked, 0)  # (B, K, Q, H)
        return self.others.run(arrays | {"question": question, "passage": passage})

    def _read(self, keys: list[bytes]) -> list[Floats]:
        """The states (K, P, H) of windows, one by one: no padding, so they are always the same."""
        layout, position = self.encoder.layout, passage_position(self.encoder)
        tables = [window_tables([key], layout) for key in keys]  # (1, P) each
        return [self._first_states(table, position)[0] for table in tables]

    def _first_states(self, tables: Arrays, position: int) -> Floats:
        found = self.first.run(tables | {"position": np.array([position])})
        states: Floats = found["states"]  # (B, K, T, H)
        return states

    def with_one_thread(self) -> "ApartGraph | None":
        first, others = self.first.with_one_thread(), self.others.with_one_thread()
        if first is None or others is None:
            return None
        copy = ApartGraph(first, others, self.encoder)
        copy.kept = self.kept
        return copy

    def copy_to(self, folder: Path) -> list[str]:
        names = [*self.first.copy_to(folder, FIRST_LAYERS), *self.others.copy_to(folder)]
        return list(dict.fromkeys(names))  # both may read one file of weights
