"""A reader whose first layers read question and passage apart, as two networks for two graphs."""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from readlet.encoding.batches import Arrays
from readlet.export.networks import Network, given_spans
from readlet.export.tracing import trace
from readlet.families.onnx_apart import FIRST_LAYERS
from readlet.models.apart_reader import ApartReader


def trace_apart(name: str, network: Network, example: Arrays, path: Path) -> None:
    """Write the graph of the layers that read both, and next to it that of the first ones."""
    reader = network.module
    assert isinstance(reader, ApartReader)
    first, others = _FirstLayers(reader), _OtherLayers(reader)
    asked, read = (
        {part: example[f"{text}_{part}"] for part in ("tokens", "types", "keep")}
        | {"position": np.array([position])}
        for text, position in (("question", 0), ("passage", reader.passage_position))
    )
    trace(name, first, asked, ("states",), path.with_name(FIRST_LAYERS))
    with torch.inference_mode():
        question, passage = (
            first(*map(torch.from_numpy, tables.values())).numpy() for tables in (asked, read)
        )  # (B, K, Q, H), (B, K, P, H)
    masks = {name: example[name] for name in ("question_keep", "passage_keep", "allowed")}
    given = {"question": question, "passage": passage, **masks}
    trace(name, others, given, network.outputs, path)


class _FirstLayers(nn.Module):
    def __init__(self, reader: ApartReader) -> None:
        super().__init__()
        self.reader = reader.eval()

    def forward(self, tokens: Tensor, types: Tensor, keep: Tensor, position: Tensor) -> Tensor:
        states = self.reader.first_states(tokens, types, keep, position)
        return torch.stack(states, dim=1)  # (B, K, T, H)


class _OtherLayers(nn.Module):
    def __init__(self, reader: ApartReader) -> None:
        super().__init__()
        self.reader = reader.eval()

    def forward(
        self,
        question: Tensor,  # (B, K, Q, H)
        passage: Tensor,  # (B, K, P, H)
        question_keep: Tensor,
        passage_keep: Tensor,
        allowed: Tensor,
    ) -> tuple[Tensor, ...]:
        layers = range(question.shape[1])
        questions, passages = ([text[:, layer] for layer in layers] for text in (question, passage))
        return given_spans(
            self.reader.read(questions, passages, question_keep, passage_keep, allowed)
        )
