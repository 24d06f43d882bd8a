"""NormSoftmax in the encoders of transformers, by name.

name = register_norm_attention()
model = AutoModel.from_pretrained("bert-base-uncased", attn_implementation=name)
"""

from typing import Any

import torch
from torch import Tensor, nn

from readlet.nn.norm_attention import materialised_norm_attention, norm_attention


def register_norm_attention(gamma: float | None = None) -> str:
    """Make NormSoftmax known to transformers; the name to give as `attn_implementation`.

    `gamma` is the square root of the head's width unless another cap is given.
    """
    from transformers import AttentionInterface, AttentionMaskInterface

    name = "norm_softmax" if gamma is None else f"norm_softmax_{gamma:g}"

    def attend(
        module: nn.Module,
        query: Tensor,  # (B, H, Lq, E)
        key: Tensor,  # (B, G, Lk, E): G heads, each for H / G queries
        value: Tensor,
        attention_mask: Tensor | None,
        dropout: float = 0.0,
        position_bias: Tensor | None = None,
        **_: Any,  # `scaling` among them: the deviation takes its place
    ) -> tuple[Tensor, None]:
        groups = query.shape[1] // key.shape[1]
        if groups > 1:
            key, value = (t.repeat_interleave(groups, dim=1) for t in (key, value))
        keep = _as_boolean(attention_mask)  # (B or 1, 1, 1 or Lq, Lk)
        named = {"gamma": gamma, "dropout": dropout}
        if position_bias is None:
            mixed = norm_attention(query, key, value, keep, **named)  # type: ignore[arg-type]
        else:
            mixed = materialised_norm_attention(
                query,
                key,
                value,
                keep,
                bias=position_bias,
                **named,  # type: ignore[arg-type]
            )
        return mixed.transpose(1, 2).contiguous(), None  # (B, Lq, H, E)

    AttentionInterface.register(name, attend)
    AttentionMaskInterface.register(name, _mask)
    return name


def _mask(
    *, mask_function: Any, attention_mask: Tensor | None = None, **named: Any
) -> Tensor | None:
    """Padding as a mask of keys, (B, 1, 1, Lk); everything else as a mask of pairs."""
    from transformers.masking_utils import bidirectional_mask_function, sdpa_mask

    if mask_function is bidirectional_mask_function:
        return None if attention_mask is None else attention_mask[:, None, None, :].bool()
    named |= {"mask_function": mask_function, "attention_mask": attention_mask}
    named |= {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
    return sdpa_mask(**named)


def _as_boolean(mask: Tensor | None) -> Tensor | None:
    """A mask that is added to the scores, 0 or a very low number, as one that keeps or not."""
    if mask is None or mask.dtype == torch.bool:
        return mask
    return mask > torch.finfo(mask.dtype).min / 2
