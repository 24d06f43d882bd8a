"""NormSoftmax in the encoders of transformers.

model = use_norm_attention(AutoModel.from_pretrained("bert-base-uncased"))

Or by name: `from_pretrained(..., attn_implementation=register_norm_attention())`. Then DeBERTa,
XLNet and others that do not look at the name keep their own softmax without a word;
`use_norm_attention` refuses them. transformers does not save the name with a model: choose the
attention again after loading.
"""

import inspect
import warnings
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from readlet.errors import ReadletError
from readlet.nn.norm_attention import materialised_norm_attention, norm_attention
from readlet.recipe.gamma import check_gamma

M = TypeVar("M", bound=Any)
# Models write -100, -1e4 or the lowest number of the type where nothing is to be seen.
_MASKED_BELOW = -50.0


def use_norm_attention(model: M, gamma: float | None = None) -> M:
    """The same model with NormSoftmax in every attention, or an error where it cannot have it."""
    from transformers import PreTrainedModel

    if not isinstance(model, PreTrainedModel):
        remedy = "give the encoder inside it"
        raise ReadletError(f"{type(model).__name__} is no model of transformers; {remedy}")
    kinds: set[type] = {type(part) for part in model.modules()}
    asks = {_asks_for_attention(kind) for kind in kinds}
    if True not in asks or False in asks:
        raise _without_choice(type(model))
    model.set_attn_implementation(register_norm_attention(gamma))
    return model


def register_norm_attention(gamma: float | None = None) -> str:
    """Make NormSoftmax known to transformers; the name to give as `attn_implementation`.

    `gamma` is what the model divides its scores by, mostly the square root of the head's width,
    unless another cap is given: far above it, the model is what it was.
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
        _refuse_what_is_not_done(module, query, attention_mask, more)
        groups = query.shape[1] // key.shape[1]
        if groups > 1:
            key, value = (t.repeat_interleave(groups, dim=1) for t in (key, value))
        keep, bias = _mask_and_bias(attention_mask, position_bias)
        scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
        named = {"gamma": 1 / scaling if gamma is None else gamma, "dropout": dropout}
        if bias is None:
            mixed = norm_attention(query, key, value, keep, **named)
        else:  # made for scores that are scaled already
            bias = bias / scaling  # (B or 1, H or 1, 1 or Lq, Lk)
            mixed = materialised_norm_attention(query, key, value, keep, bias=bias, **named)
        return mixed.transpose(1, 2).contiguous(), None  # (B, Lq, H, E)

    AttentionInterface.register(name, attend)
    AttentionMaskInterface.register(name, _mask)
    return name


def _mask(
    *, mask_function: Any, attention_mask: Tensor | None = None, config: Any = None, **named: Any
) -> Tensor | None:
    """Padding as a mask of keys, (B, 1, 1, Lk); everything else as a mask of pairs."""
    from transformers.masking_utils import bidirectional_mask_function, sdpa_mask

    if not torch.compiler.is_compiling():
        _refuse_config_without_choice(config)
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
    if not mask.is_floating_point():
        remedy = "give one of two dimensions, or True where it is kept"
        raise ReadletError(f"mask: {mask.dtype} of {mask.dim()} dimensions; {remedy}")
    keep = mask > _MASKED_BELOW  # (B or 1, H or 1, 1 or Lq, Lk)
    added = mask.masked_fill(~keep, 0.0)  # (B or 1, H or 1, 1 or Lq, Lk)
    if not bool(added.any()):
        return keep, bias
    return keep, added if bias is None else added + bias


def _refuse_config_without_choice(config: Any) -> None:
    """Some models ask for a mask of the named kind, and then compute their own attention."""
    from transformers import MODEL_MAPPING

    models = MODEL_MAPPING.get(type(config), ())
    for model in models if isinstance(models, tuple) else (models,):
        _refuse_without_choice(model)


def _refuse_without_choice(model: Any) -> None:
    if not model._can_set_attn_implementation():
        raise _without_choice(model)


def _without_choice(model: type) -> ReadletError:
    remedy = "take one like BERT, RoBERTa, ALBERT, ELECTRA or ModernBERT"
    return ReadletError(f"{model.__name__} has an attention that cannot be chosen; {remedy}")


def _asks_for_attention(part: type) -> bool | None:
    """Whether it takes the attention that is chosen (True) or one of its own (False); None: none.

    transformers can tell this of a whole file only, and some files have layers of both kinds.
    """
    computing = next(kind for kind in part.__mro__ if "forward" in vars(kind))
    try:
        source = inspect.getsource(computing)
    except (OSError, TypeError):  # made at run time: nothing to read
        return None
    if "ALL_ATTENTION_FUNCTIONS" in source:
        return True
    owns = "softmax(" in source or "scaled_dot_product_attention(" in source
    return False if owns and "Attention" in part.__name__ else None


def _refuse_what_is_not_done(
    module: nn.Module, query: Tensor, mask: Tensor | None, more: dict[str, Any]
) -> None:
    for name in ("softcap", "s_aux"):
        if more.get(name) is not None:
            raise ReadletError(f"NormSoftmax knows no {name}; give this model another attention")
    asked = getattr(getattr(module, "config", None), "output_attentions", False)
    if more.get("output_attentions", asked) and not torch.compiler.is_compiling():
        warnings.warn("output_attentions: NormSoftmax holds no weights to give", stacklevel=2)
    is_causal = more.get("is_causal") or getattr(module, "is_causal", False)
    if mask is None and is_causal and query.shape[2] > 1:
        raise ReadletError("NormSoftmax got no mask for causal attention; pass an attention_mask")
