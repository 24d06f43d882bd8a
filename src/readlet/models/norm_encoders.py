"""NormSoftmax in the encoders of transformers, by name.

name = register_norm_attention()
model = AutoModel.from_pretrained("bert-base-uncased", attn_implementation=name)
"""

from typing import Any

import torch
from torch import Tensor, nn

from readlet.errors import ReadletError
from readlet.nn.gamma import check_gamma
from readlet.nn.norm_attention import materialised_norm_attention, norm_attention

# Models write -100, -1e4 or the lowest number of the type where nothing is to be seen.
_MASKED_BELOW = -50.0


def register_norm_attention(gamma: float | None = None) -> str:
    """Make NormSoftmax known to transformers; the name to give as `attn_implementation`.

    `gamma` is the square root of the head's width unless another cap is given.
    """
    from transformers import AttentionInterface, AttentionMaskInterface

    if gamma is not None:
        check_gamma(gamma)
    name = "norm_softmax" if gamma is None else f"norm_softmax_{gamma!r}"

    def attend(
        module: nn.Module,
        query: Tensor,  # (B, H, Lq, E)
        key: Tensor,  # (B, G, Lk, E): G heads, each for H / G queries
        value: Tensor,
        attention_mask: Tensor | None,
        dropout: float = 0.0,
        position_bias: Tensor | None = None,
        **more: Any,  # `scaling` among them: the deviation takes its place
    ) -> tuple[Tensor, None]:
        _refuse_what_is_not_done(module, query, attention_mask, more)
        groups = query.shape[1] // key.shape[1]
        if groups > 1:
            key, value = (t.repeat_interleave(groups, dim=1) for t in (key, value))
        keep, bias = _mask_and_bias(attention_mask, position_bias)
        if bias is None:
            mixed = norm_attention(query, key, value, keep, gamma=gamma, dropout=dropout)
        else:
            mixed = materialised_norm_attention(
                query, key, value, keep, bias=bias, gamma=gamma, dropout=dropout
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


def _mask_and_bias(mask: Tensor | None, bias: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    """What is kept, and what is added to the scores.

    A mask of numbers may be both: some models put their bias of places into it.
    """
    if mask is None or mask.dtype == torch.bool:
        return mask, bias
    keep = mask > _MASKED_BELOW  # (B or 1, H or 1, 1 or Lq, Lk)
    added = mask.masked_fill(~keep, 0.0)  # (B or 1, H or 1, 1 or Lq, Lk)
    if not bool(added.any()):
        return keep, bias
    return keep, added if bias is None else added + bias


def _refuse_what_is_not_done(
    module: nn.Module, query: Tensor, mask: Tensor | None, more: dict[str, Any]
) -> None:
    for name in ("softcap", "s_aux"):
        if more.get(name) is not None:
            raise ReadletError(f"NormSoftmax knows no {name}; give this model another attention")
    is_causal = more.get("is_causal") or getattr(module, "is_causal", False)
    if mask is None and is_causal and query.shape[2] > 1:
        raise ReadletError("NormSoftmax got no mask for causal attention; pass an attention_mask")
