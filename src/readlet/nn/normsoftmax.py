"""NormSoftmax (2022) in attention, without the matrix of scores, and in the loss of classes.

In attention, it divides the scores q.k of a query by their standard deviation over the keys. That
needs no scores: with the keys' covariance C = 1/n sum_j (k_j - mean)(k_j - mean)', it is
sqrt(q' C q). So the query is rescaled, and torch's fused attention does the rest with a scale of 1:
exact, and in O(n d^2). C is computed from centred keys, since E[kk'] - mean mean' would lose half
of the digits.

q' C q cancels where q is nearly orthogonal to the directions in which the keys vary. That is rare
with many keys, but common with two or three. So for at most d kept keys the deviation is the norm
of their centred scores: a product of the same size, with the usual rounding error of scores.
Two keys are a special case. Divided by their deviation, their scores are +1 and -1 about the mean,
for any query. The component of q orthogonal to the keys' difference has no influence, but it and
its rounding error would be multiplied by 1 / sigma: the rescaled query leaves it out.

In a loss, a few scores with a standard deviation of 1 cannot be far apart, so without a cap the
confidence is bounded: with n classes, p <= 1 / (1 + (n - 1) exp(-n / sqrt(n - 1))). That is 0.88
for two classes, 0.76 for ten and above 0.99 from about 80 on. A gamma below the deviation of the
scores raises the bound; a larger one changes nothing. The same is true for the words of a context.
Two scores divided by their deviation always differ by 2, whatever the logits are: the loss then has
no gradient. So with two classes a row learns only if its deviation is above gamma. The first
logits of a classifier are close together; gamma must be far below their deviation, say 0.01.
"""

import math
import warnings
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from readlet.errors import ReadletError
from readlet.nn.softmax import check_gamma, norm_softmax, one_over_sigma

_HALF_LIMIT = 6e4  # in float16 the rescaled query is clamped to this; the largest number is 65504
_LOW = 0.99  # below this bound on the confidence the loss stays far from zero


def norm_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    keep: Tensor | None = None,
    *,
    gamma: float | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """query (B, H, Lq, E), key and value (B, H, Lk, E), keep -> (B, H, Lq, E).

    `keep` is boolean, True means keep: (B, Lk). `gamma` is the cap on sigma, by default sqrt(E).
    Queries all of whose keys are masked get zeros.
    """
    gamma = math.sqrt(query.shape[-1]) if gamma is None else gamma
    check_gamma(gamma)
    if not query.dim() == key.dim() == value.dim() == 4:
        shapes = ", ".join(str(tuple(tensor.shape)) for tensor in (query, key, value))
        raise ReadletError(f"query, key, value: {shapes}; give (batch, heads, length, width)")
    query, key, value = _as_autocast(query, key, value)
    # An exported model has the plain form: it has no gradient.
    if torch.jit.is_tracing():  # type: ignore[attr-defined, no-untyped-call]
        return materialised_norm_attention(query, key, value, keep, gamma=gamma)
    _check(key, keep)
    scaled = rescaled_query(query, key, keep, gamma)  # (B, H, Lq, E)
    if keep is None:
        return F.scaled_dot_product_attention(
            scaled, key, value, dropout_p=dropout, scale=1.0
        )  # (B, H, Lq, E)
    attended = F.scaled_dot_product_attention(
        scaled, key, value, attn_mask=keep[:, None, None, :], dropout_p=dropout, scale=1.0
    )  # (B, H, Lq, E)
    # Where nothing is kept, torch gives zeros, but with cuDNN a mean of the values.
    nothing = ~keep.any(dim=1).view(-1, 1, 1, 1)  # (B, 1, 1, 1)
    return torch.where(nothing, 0.0, attended)  # (B, H, Lq, E)


def rescaled_query(query: Tensor, key: Tensor, keep: Tensor | None, gamma: float) -> Tensor:
    """q / min(sigma, gamma), where sigma is the deviation of q.k over the kept keys.

    0 if all kept keys have the same score: then the weights are equal, without a gradient.
    """
    scaled: Tensor = _RescaledQuery.apply(query, key, keep, gamma)  # type: ignore[no-untyped-call]
    return scaled


class _RescaledQuery(torch.autograd.Function):
    """The rescaled query; its custom gradient saves neither the query nor the centred keys.

    With s = 1 / sigma, q' = s q and the keys' covariance C, dq = s (dq' - (q'.dq') C q'); C gets
    -1/2 sum_i (q'_i.dq'_i) q'_i q'_i^T, which the keys get as 2/n (k - mean) dC. In at least
    float32: where a query is nearly orthogonal to most of C, half precision would lose sigma. With
    two keys below the cap the query gets no gradient; theirs cancels that of attention.
    """

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, keep: Tensor | None, gamma: float) -> Tensor:
        with torch.autocast(query.device.type, enabled=False):
            centred, count = _centred(key, keep)  # (B, H, Lk, E), (B or 1, 1, 1, 1)
            covariance = centred.transpose(-1, -2) @ centred  # (B, H, E, E)
            few = _first_kept(centred, keep)  # (B, H, E, E)
            scaled, factor, is_free = _rescale(query, covariance, few, count, gamma)
        ctx.save_for_backward(scaled, key, keep, covariance, factor, is_free)
        return scaled

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None, None, None]:
        scaled, key, keep, covariance, factor, is_free = ctx.saved_tensors
        precise = covariance.dtype
        query, gradient = scaled.to(precise), gradient.to(precise)  # (B, H, Lq, E)
        along = (gradient * query).sum(dim=-1, keepdim=True)  # (B, H, Lq, 1)
        along = torch.where(is_free, along, 0.0)  # (B, H, Lq, 1)
        of_query = (gradient - along * (query @ covariance)) * factor  # (B, H, Lq, E)
        of_key = None
        if ctx.needs_input_grad[1]:
            of_covariance = (-along * query).transpose(-1, -2) @ query  # (B, H, E, E), symmetric
            centred, count = _centred(key, keep)  # (B, H, Lk, E), (B or 1, 1, 1, 1)
            of_key = (centred @ (of_covariance / count.sqrt())).to(key.dtype)  # (B, H, Lk, E)
        return of_query.to(scaled.dtype), of_key, None, None


def _centred(key: Tensor, keep: Tensor | None) -> tuple[Tensor, Tensor]:
    """(k - mean) / sqrt(n) of the kept keys, zero for the others, and n.

    C is X' X of this matrix X.
    """
    precise = key.to(torch.promote_types(key.dtype, torch.float32))  # (B, H, Lk, E)
    if keep is None:
        count = precise.new_full((1, 1, 1, 1), precise.shape[-2])  # (1, 1, 1, 1)
    else:
        count = keep.sum(dim=1).clamp(min=1)[:, None, None, None].to(precise)  # (B, 1, 1, 1)
    centred = precise
    for _ in range(2):  # again, to remove the rounding error of the mean: equal keys give zeros
        if keep is not None:
            centred = torch.where(keep[:, None, :, None], centred, 0.0)  # (B, H, Lk, E)
        centred = centred - centred.sum(dim=-2, keepdim=True) / count  # (B, H, Lk, E)
    if keep is not None:
        centred = torch.where(keep[:, None, :, None], centred, 0.0)  # (B, H, Lk, E)
    return centred / count.sqrt(), count


def _first_kept(centred: Tensor, keep: Tensor | None) -> Tensor:
    """The first E kept ones of the centred keys, then zeros; (B, H, E, E)."""
    heads, length, width = centred.shape[1:]
    if keep is None:
        rows = centred[:, :, :width]  # (B, H, up to E, E)
    else:
        order = (~keep).to(torch.uint8).argsort(dim=1, stable=True)[:, :width]  # (B, up to E)
        order = order[:, None, :, None].expand(-1, heads, -1, width)  # (B, H, up to E, E)
        rows = centred.gather(2, order)  # (B, H, up to E, E), the rest of the kept are zeros
    return F.pad(rows, (0, 0, 0, max(0, width - length)))  # (B, H, E, E)


def _rescale(
    query: Tensor, covariance: Tensor, few: Tensor, count: Tensor, gamma: float
) -> tuple[Tensor, Tensor, Tensor]:
    """q s, s, and whether sigma depends on q and C: not at the cap, nor for equal scores.

    `few` has the centred keys / sqrt(n), for up to E keys. For two keys below the cap, q s is the
    shortest query with the same scores; s is 0, since the scores do not depend on q.
    """
    precise = query.to(covariance.dtype)  # (B, H, Lq, E)
    are_few = count <= query.shape[-1]  # (B or 1, 1, 1, 1)
    matrix = torch.where(are_few, few.transpose(-1, -2), covariance)  # (B, H, E, E)
    product = precise @ matrix  # (B, H, Lq, E): scores of few keys, q C of many
    other = torch.where(are_few, product, precise)  # (B, H, Lq, E)
    variance = (product * other).sum(dim=-1, keepdim=True)  # (B, H, Lq, 1)
    factor = one_over_sigma(variance, gamma)  # (B, H, Lq, 1)
    is_free = (variance < min(gamma, 1e18) ** 2) & (factor > 0)  # (B, H, Lq, 1)
    is_sign = is_free & are_few & (count == 2)  # (B, H, Lq, 1)
    factor = torch.where(is_sign, 0.0, factor)  # (B, H, Lq, 1)
    sign = torch.where(is_sign, product[..., :1].sign(), 0.0)  # (B, H, Lq, 1)
    half = few[:, :, :1] * math.sqrt(2)  # (B, H, 1, E), of the difference of two keys
    square = half.square().sum(dim=-1, keepdim=True)  # (B, H, 1, 1)
    along = half / square.clamp(min=1e-37)  # (B, H, 1, E), its score is 1
    scaled = (precise * factor).addcmul_(sign, along)  # (B, H, Lq, E)
    if query.dtype == torch.float16:
        scaled = scaled.clamp(-_HALF_LIMIT, _HALF_LIMIT)  # (B, H, Lq, E)
    return scaled.to(query.dtype), factor, is_free


def _as_autocast(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Cast to the autocast dtype if autocast is enabled, as torch's own attention does."""
    kind = tensors[0].device.type
    if not torch.is_autocast_enabled(kind) or tensors[0].dtype == torch.float64:
        return tensors
    return tuple(tensor.to(torch.get_autocast_dtype(kind)) for tensor in tensors)


def materialised_norm_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    keep: Tensor | None = None,
    *,
    gamma: float | None = None,
) -> Tensor:
    """`norm_attention` by definition, with all scores.

    Scores are at least float32: in half precision large scores overflow, and their differences,
    on which the result depends, are lost.
    """
    gamma = math.sqrt(query.shape[-1]) if gamma is None else gamma
    precise = torch.promote_types(query.dtype, torch.float32)
    with torch.autocast(query.device.type, enabled=False):
        scores = query.to(precise) @ key.to(precise).transpose(-1, -2)  # (B, H, Lq, Lk)
    if keep is None:
        keep = torch.ones(key.shape[0], key.shape[-2], dtype=torch.bool, device=query.device)
    weights = norm_softmax(scores, keep[:, None, None, :], gamma=gamma)  # (B, H, Lq, Lk)
    return weights.to(value.dtype) @ value  # (B, H, Lq, E)


def _check(key: Tensor, keep: Tensor | None) -> None:
    if keep is None:
        return
    if keep.dtype != torch.bool:
        raise ReadletError(f"mask: {keep.dtype} instead of bool; True means keep")
    if keep.shape != (key.shape[0], key.shape[-2]):
        wanted = (key.shape[0], key.shape[-2])
        raise ReadletError(f"mask: {tuple(keep.shape)} instead of {wanted}; one for each key")


def highest_confidence(classes: int) -> float:
    """The largest probability that NormSoftmax without a cap can give: all other scores equal."""
    if classes == 1:
        return 1.0
    return 1 / (1 + (classes - 1) * math.exp(-classes / math.sqrt(classes - 1)))


@cache
def warn_of_bound(classes: int, name: str) -> None:
    """Warn if the confidence over so many classes is low; `name` is that of the missing cap."""
    bound = highest_confidence(classes)
    if bound < _LOW:
        warnings.warn(
            f"NormSoftmax over {classes} classes without a cap has a confidence of at most "
            f"{bound:.2f}; set {name} below the deviation of the scores, for example to 1",
            stacklevel=3,
        )
