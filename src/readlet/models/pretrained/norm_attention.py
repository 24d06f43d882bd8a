"""NormSoftmax in the encoders of transformers.

model = use_norm_attention(AutoModel.from_pretrained("bert-base-uncased"))

Or by name: `from_pretrained(..., attn_implementation=register_norm_attention())`. But DeBERTa,
XLNet and others ignore the name and silently keep their own softmax; `use_norm_attention` rejects
them. transformers does not save the name with a model: choose the attention again after loading.
"""

import inspect
import warnings
from functools import cache
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from readlet.errors import ReadletError
from readlet.nn.normsoftmax import materialised_norm_attention, norm_attention
from readlet.nn.softmax import check_gamma

M = TypeVar("M", bound=Any)
# Models mask with -100, -1e4 or the lowest number of the dtype.
_MASKED_BELOW = -50.0


def use_norm_attention(model: M, gamma: float | None = None) -> M:
    """The same model with NormSoftmax in every attention, or an error if that is impossible."""
    from transformers import PreTrainedModel

    if not isinstance(model, PreTrainedModel):
        remedy = "give the encoder inside it"
        raise ReadletError(f"{type(model).__name__} is not a model of transformers; {remedy}")
    kinds: set[type] = {type(part) for part in model.modules()}
    asks = {_asks_for_attention(kind) for kind in kinds}
    if True not in asks or False in asks:
        raise _without_choice(type(model))
    model.set_attn_implementation(register_norm_attention(gamma))
    return model


def register_norm_attention(gamma: float | None = None) -> str:
    """Register NormSoftmax with transformers; returns the name for `attn_implementation`.

    `gamma` is the cap on sigma. By default it is the number by which the model divides its scores,
    mostly the square root of the head's width: where sigma is far above it, nothing changes.
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
        scaling: float | None = None,
        position_bias: Tensor | None = None,
        **more: Any,
    ) -> tuple[Tensor, None]:
        _reject_unsupported(module, query, attention_mask, more)
        groups = query.shape[1] // key.shape[1]
        if groups > 1:
            key, value = (t.repeat_interleave(groups, dim=1) for t in (key, value))
        keep, bias = _mask_and_bias(attention_mask, position_bias)
        scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
        named = {"gamma": 1 / scaling if gamma is None else gamma, "dropout": dropout}
        if bias is None:
            mixed = norm_attention(query, key, value, keep, **named)
        else:  # the bias is meant for scores that are already scaled
            bias = bias / scaling  # (B or 1, H or 1, 1 or Lq, Lk)
            mixed = materialised_norm_attention(query, key, value, keep, bias=bias, **named)
        return mixed.transpose(1, 2).contiguous(), None  # (B, Lq, H, E)

    AttentionInterface.register(name, attend)
    AttentionMaskInterface.register(name, _mask)
    return name


def _mask(
    *, mask_function: Any, attention_mask: Tensor | None = None, config: Any = None, **named: Any
) -> Tensor | None:
    """Padding as a mask of keys, (B, 1, 1, Lk); all other masks as a mask of pairs."""
    from transformers.masking_utils import bidirectional_mask_function, sdpa_mask

    if not torch.compiler.is_compiling():
        _reject_config(config)
    if mask_function is bidirectional_mask_function:
        return None if attention_mask is None else attention_mask[:, None, None, :].bool()
    named |= {"mask_function": mask_function, "attention_mask": attention_mask}
    named |= {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
    return sdpa_mask(**named)


def _mask_and_bias(mask: Tensor | None, bias: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    """The boolean mask, and the bias that is added to the scores.

    A mask of numbers may be both: some models add their position bias to it.
    """
    if mask is None or mask.dtype == torch.bool:
        return mask, bias
    if not mask.is_floating_point():
        remedy = "give one of two dimensions, or a boolean one (True means keep)"
        raise ReadletError(f"mask: {mask.dtype} of {mask.dim()} dimensions; {remedy}")
    keep = mask > _MASKED_BELOW  # (B or 1, H or 1, 1 or Lq, Lk)
    added = mask.masked_fill(~keep, 0.0)  # (B or 1, H or 1, 1 or Lq, Lk)
    if not bool(added.any()):
        return keep, bias
    return keep, added if bias is None else added + bias


def _reject_config(config: Any) -> None:
    """Some models request a mask for this attention, and then compute their own attention."""
    from transformers import MODEL_MAPPING

    models: Any = MODEL_MAPPING.get(type(config), ())
    for model in models if isinstance(models, tuple) else (models,):
        if not model._can_set_attn_implementation():
            raise _without_choice(model)


def _without_choice(model: type) -> ReadletError:
    remedy = "take one like BERT, RoBERTa, ALBERT, ELECTRA or ModernBERT"
    return ReadletError(f"{model.__name__} has a fixed attention implementation; {remedy}")


@cache  # to find the source of a class, Python parses its whole file
def _asks_for_attention(part: type) -> bool | None:
    """True: it uses the chosen attention; False: its own; None: it has no attention.

    transformers knows this per file only, and some files have layers of both kinds.
    """
    computing = next(kind for kind in part.__mro__ if "forward" in vars(kind))
    try:
        source = inspect.getsource(computing)
    except (OSError, TypeError):  # created at run time: there is no source
        return None
    if "ALL_ATTENTION_FUNCTIONS" in source:
        return True
    owns = "softmax(" in source or "scaled_dot_product_attention(" in source
    return False if owns and "Attention" in part.__name__ else None


def _reject_unsupported(
    module: nn.Module, query: Tensor, mask: Tensor | None, more: dict[str, Any]
) -> None:
    for name in ("softcap", "s_aux"):
        if more.get(name) is not None:
            raise ReadletError(f"NormSoftmax does not support {name}; use another attention")
    asked = getattr(getattr(module, "config", None), "output_attentions", False)
    if more.get("output_attentions", asked) and not torch.compiler.is_compiling():
        warnings.warn("output_attentions: NormSoftmax does not return weights", stacklevel=2)
    is_causal = more.get("is_causal") or getattr(module, "is_causal", False)
    if mask is None and is_causal and query.shape[2] > 1:
        raise ReadletError("NormSoftmax got no mask for causal attention; pass an attention_mask")
