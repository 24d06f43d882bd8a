"""Attention of transformers' encoders in the operations that a graph runs fastest.

Torch's own form looks for NaN in all weights, for queries without keys, and makes a mask of pairs
of tokens. Here is a mask of keys, and numbers are finite.
"""

from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from readlet.models.pretrained_encoder import KNOWN_KINDS, PretrainedEncoder
from readlet.nn.softmax import MASKED

_NAME = "plain"


def with_plain_attention(network: nn.Module) -> nn.Module:
    """A copy whose encoder attends in plain operations, if it is of a kind known to allow it."""
    made = deepcopy(network)
    for part in made.modules():
        if not isinstance(part, PretrainedEncoder):
            continue
        config = part.network.config
        if config.model_type in KNOWN_KINDS and config._attn_implementation == "sdpa":
            part.network.set_attn_implementation(_registered())
    return made


def _registered() -> str:
    from transformers import AttentionInterface, AttentionMaskInterface

    AttentionInterface.register(_NAME, _attend)
    AttentionMaskInterface.register(_NAME, _mask)
    return _NAME


def _attend(
    module: nn.Module,
    query: Tensor,  # (B, H, L, E)
    key: Tensor,  # (B, H, L, E)
    value: Tensor,  # (B, H, L, E)
    attention_mask: Tensor,  # (B, 1, 1, L), added to the scores
    scaling: float | None = None,
    **more: Any,
) -> tuple[Tensor, None]:
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    scores = query @ key.transpose(-1, -2) * scaling + attention_mask  # (B, H, L, L)
    mixed = scores.softmax(dim=-1) @ value  # (B, H, L, E)
    return mixed.transpose(1, 2), None  # (B, L, H, E)


def _mask(*, attention_mask: Tensor, **named: Any) -> Tensor:
    """Padding as numbers to be added to scores: (B, L) -> (B, 1, 1, L)."""
    return torch.where(attention_mask.bool(), 0.0, MASKED)[:, None, None]  # (B, 1, 1, L)
