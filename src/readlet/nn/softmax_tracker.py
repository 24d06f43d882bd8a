"""Statistics of the softmax of every self-attention, as in NormSoftmax (2022).

They are the variance of its inputs and the entropy of its outputs. The scores are computed a
second time for them, so track single batches only.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from readlet.errors import ReadletError
from readlet.nn.qanet import SelfAttention
from readlet.nn.softmax import masked_softmax, normalised


@dataclass(frozen=True)
class SoftmaxStatistics:
    """Statistics of one softmax: means over all queries of all heads."""

    layer: str  # name of the module
    variance: float  # of the inputs of one query, over the keys
    entropy: float  # of the weights, from 0 (all on one key) to 1 (uniform)


@contextmanager
def tracked_softmax(model: nn.Module) -> Iterator[list[SoftmaxStatistics]]:
    """Inside the `with`, every call of a self-attention is recorded, in order.

    with tracked_softmax(model) as found:
        model(batch)

    Compiled modules run eagerly there: compiled programs do not call hooks.
    """
    found: list[SoftmaxStatistics] = []

    def record(name: str) -> Any:
        def hook(module: SelfAttention, inputs: tuple[Tensor, Tensor], _: Tensor) -> None:
            with torch.no_grad():
                found.append(_statistics(name, module, *inputs))

        return hook

    hooks = [
        module.register_forward_hook(record(name))
        for name, module in model.named_modules()
        if isinstance(module, SelfAttention)
    ]
    if not hooks:
        raise ReadletError(f"{type(model).__name__} has no SelfAttention of readlet to track")
    try:
        with torch.compiler.set_stance("force_eager"):
            yield found
    finally:
        for hook in hooks:
            hook.remove()


def _statistics(name: str, module: SelfAttention, x: Tensor, keep: Tensor) -> SoftmaxStatistics:
    """x (B, L, D), keep (B, L)."""
    query, key, _ = module.of_heads(x)  # 3 of (B, H, L, E)
    scores = query.float() @ key.float().transpose(-1, -2)  # (B, H, L, L)
    of_keys = keep[:, None, None, :]  # (B, 1, 1, L)
    if module.norm_gamma is None:
        inputs = scores / math.sqrt(module.head_width)  # (B, H, L, L)
    else:
        inputs = normalised(scores, of_keys, -1, module.norm_gamma)  # (B, H, L, L)
    count = keep.sum(dim=1)[:, None, None]  # (B, 1, 1)
    kept = inputs.masked_fill(~of_keys, 0.0)  # (B, H, L, L)
    mean = kept.sum(-1) / count.clamp(min=1)  # (B, H, L)
    square = (inputs - mean.unsqueeze(-1)).square().masked_fill(~of_keys, 0.0)  # (B, H, L, L)
    variance = square.sum(-1) / count.clamp(min=1)  # (B, H, L)
    weights = masked_softmax(inputs, of_keys)  # (B, H, L, L)
    entropy = -torch.special.xlogy(weights, weights).sum(-1)  # (B, H, L)
    most = count.clamp(min=2).float().log()  # (B, 1, 1)
    queries = keep[:, None, :].expand_as(variance)  # (B, H, L)

    def mean_of(values: Tensor) -> float:
        return float(values.masked_fill(~queries, 0.0).sum() / queries.sum().clamp(min=1))

    return SoftmaxStatistics(name, mean_of(variance), mean_of(entropy / most))
