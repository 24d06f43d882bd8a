"""NormSoftmax in the encoders of transformers.

model = use_norm_attention(AutoModel.from_pretrained("bert-base-uncased"))

transformers does not save the attention with a model: choose it again after loading.
"""

from typing import Any, TypeVar

from torch import Tensor, nn

from readlet.errors import ReadletError
from readlet.models.pretrained.encoder import KNOWN_KINDS
from readlet.nn.normsoftmax import norm_attention
from readlet.nn.softmax import check_gamma

M = TypeVar("M", bound=Any)
# Others silently keep their own softmax, or add a bias to the scores.
_KINDS = KNOWN_KINDS | {"camembert", "ernie"}


def use_norm_attention(model: M, gamma: float | None = None) -> M:
    """The same encoder with NormSoftmax in every attention; an error if its kind has no choice.

    `gamma` is the cap on sigma, by default the square root of the head's width: where sigma is far
    above it, nothing changes.
    """
    kind = model.config.model_type
    if kind not in _KINDS or getattr(model.config, "is_decoder", False):
        fault = f"NormSoftmax cannot replace the attention of {type(model).__name__}"
        raise ReadletError(f"{fault}; take an encoder of kind {', '.join(sorted(_KINDS))}")
    model.set_attn_implementation(_registered(gamma))
    return model


def _registered(gamma: float | None) -> str:
    """Register NormSoftmax with transformers; returns its name there."""
    from transformers import AttentionInterface, AttentionMaskInterface

    if gamma is not None:
        check_gamma(gamma)
    name = "norm_softmax" if gamma is None else f"norm_softmax_{gamma!r}"

    def attend(
        module: nn.Module,
        query: Tensor,  # (B, H, L, E)
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,  # (B, 1, 1, L)
        dropout: float = 0.0,
        **_: Any,
    ) -> tuple[Tensor, None]:
        keep = None if attention_mask is None else attention_mask[:, 0, 0]  # (B, L)
        mixed = norm_attention(query, key, value, keep, gamma=gamma, dropout=dropout)
        return mixed.transpose(1, 2).contiguous(), None  # (B, L, H, E)

    AttentionInterface.register(name, attend)
    AttentionMaskInterface.register(name, _mask)
    return name


def _mask(*, attention_mask: Tensor | None = None, **_: Any) -> Tensor | None:
    """Padding as a mask of keys, (B, 1, 1, L)."""
    return None if attention_mask is None else attention_mask[:, None, None, :].bool()
