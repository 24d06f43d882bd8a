"""ONNX operations that the tracer does not know, or decomposes into many.

Each has an equivalent in torch. `modernise` converts a traced model to a version that has them.
"""

from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from readlet.nn.softmax import masked_softmax

# Attention has lengths since version 24. onnxruntime 1.24 ignores them, but rejects this version.
_OPSET = 26
_DRAFT = "readlet"  # the domain of operations that are too new for the tracer


def attended(query: Tensor, key: Tensor, value: Tensor, lengths: Tensor, heads: int = 1) -> Tensor:
    """Attention to the first positions of each row; queries are already scaled.

    (B, Lq, H * E), (B, L, H * E), (B, L, H * V), lengths (B,) of at least 1 -> (B, Lq, H * V).
    """
    found: Tensor = _Attended.apply(query, key, value, lengths, heads)  # type: ignore[no-untyped-call]
    return found


def normed(x: Tensor, factor: Tensor, epsilon: float) -> Tensor:
    """LayerNorm of x (1, N, D) times factor (N,), in one operation. It never uses two cores."""
    found: Tensor = _Normed.apply(x, factor, epsilon)  # type: ignore[no-untyped-call]
    return found


def reshaped(x: Tensor, *shape: int) -> Tensor:
    """Reshape to a constant shape of the ONNX model; a dimension of 0 is kept.

    The tracer turns a view into five operations that compute such dimensions. They cost
    more than they seem to: there are hundreds of them.
    """
    found: Tensor = _Reshaped.apply(x, *shape)  # type: ignore[no-untyped-call]
    return found


class _Attended(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, lengths: Tensor, heads: int
    ) -> Tensor:
        def of_heads(x: Tensor) -> Tensor:
            return x.view(*x.shape[:2], heads, -1).transpose(1, 2)  # (B, H, L, E)

        keep = torch.arange(key.shape[1]) < lengths.unsqueeze(1)  # (B, L)
        scores = of_heads(query) @ of_heads(key).transpose(-1, -2)  # (B, H, Lq, L)
        weights = masked_softmax(scores, keep[:, None, None])  # (B, H, Lq, L)
        mixed = weights @ of_heads(value)  # (B, H, Lq, V)
        return mixed.transpose(1, 2).flatten(2)  # (B, Lq, H * V)

    @staticmethod
    def symbolic(graph: Any, query: Any, key: Any, value: Any, lengths: Any, heads: int) -> Any:
        given = {"q_num_heads_i": heads, "kv_num_heads_i": heads, "scale_f": 1.0}
        made = graph.op(f"{_DRAFT}::Attention", query, key, value, lengths, **given)
        made.setType(query.type().with_sizes([None, None, None]))
        return made


class _Normed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: Tensor, epsilon: float) -> Tensor:
        return F.layer_norm(x, x.shape[-1:], eps=epsilon) * factor.unsqueeze(-1)  # (1, N, D)

    @staticmethod
    def symbolic(graph: Any, x: Any, factor: Any, epsilon: float) -> Any:
        zeros = graph.op("Sub", factor, factor)  # (N,)
        # Words are its channels, so the factor may have one number for each of them.
        return graph.op("InstanceNormalization", x, factor, zeros, epsilon_f=epsilon)


class _Reshaped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, *shape: int) -> Tensor:
        return x.reshape([wanted or x.shape[i] for i, wanted in enumerate(shape)])

    @staticmethod
    def symbolic(graph: Any, x: Any, *shape: int) -> Any:
        return graph.op("Reshape", x, graph.op("Constant", value_t=torch.tensor(shape)))


def modernise(path: Path) -> None:
    """Convert a traced model in place, if it has operations that need it."""
    import onnx
    from onnx.version_converter import convert_version

    model = onnx.load(path)
    if all(node.domain != _DRAFT for node in model.graph.node):
        return
    model = convert_version(model, _OPSET)
    for node in model.graph.node:
        if node.domain == _DRAFT:
            *given, lengths = node.input
            node.input[:] = [*given, "", "", "", lengths]  # no mask, no past keys and values
            node.domain = ""
    kept = [opset for opset in model.opset_import if opset.domain != _DRAFT]
    del model.opset_import[:]
    model.opset_import.extend(kept)
    onnx.save(model, path)
