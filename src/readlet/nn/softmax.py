"""Softmax and NormSoftmax over the kept positions of a row: the one place for masked scores.

Adding the most negative number of a dtype to a score overflows to minus infinity in float16, and
a row of nothing but minus infinity has a softmax of NaN. Here the mask is boolean, the arithmetic
is at least float32, and masked scores are replaced, not shifted, so nothing can overflow.
"""

import math

import torch
from torch import Tensor

from readlet.errors import ReadletError

MASKED = -1e30
"""The log-probability of a masked position.

Below every score a model can produce, yet finite, and so far from the end of the float32 range
that sums of such values (for example a start plus an end) stay finite as well. It does not fit
into float16: log-probabilities are float32 and must stay so.
"""
SIGMA_FLOOR = 1e-6
"""Scores with a smaller standard deviation count as equal; a smaller cap would have no effect."""


def masked_softmax(scores: Tensor, keep: Tensor, dim: int = -1) -> Tensor:
    """Probabilities over the kept positions along `dim`, in the dtype of `scores`.

    `keep` is boolean, True means keep, and broadcasts to the shape of `scores`. Masked positions
    get zero, and so does every position of a row that keeps nothing. A score of minus infinity, or
    a finite substitute for it, is masked as well, here and below.
    """
    keep = kept(scores, keep)  # (...,)
    probabilities = _fill(scores, keep).softmax(dim)  # (...,)
    # A row that keeps nothing is uniform here. The second fill makes it and its gradient zero.
    return torch.where(keep, probabilities, 0.0).to(scores.dtype)  # (...,)


def masked_log_softmax(scores: Tensor, keep: Tensor, dim: int = -1) -> Tensor:
    """Log-probabilities over the kept positions along `dim`; `MASKED` everywhere else.

    The result is float32 (float64 for float64 scores): a loss in half precision loses digits.
    """
    keep = kept(scores, keep)  # (...,)
    return torch.where(keep, _fill(scores, keep).log_softmax(dim), MASKED)  # (...,)


def masked_bias(bias: Tensor, keep: Tensor) -> Tensor:
    """A bias that fused attention adds to its scores, with the mask in it, in the dtype of `bias`.

    Not minus infinity, in any dtype: a row that keeps nothing is uniform instead of NaN.
    """
    return torch.where(keep, bias, max(MASKED, torch.finfo(bias.dtype).min / 2))  # (...,)


def norm_softmax(scores: Tensor, keep: Tensor, dim: int = -1, gamma: float = math.inf) -> Tensor:
    """NormSoftmax (2022): softmax(x / min(sigma, gamma)), in the dtype of `scores`.

    sigma is the standard deviation of the kept scores along `dim`. A row that keeps one position
    gives 1 there, a row of equal scores is uniform, and a row that keeps nothing gives zeros.
    """
    keep = kept(scores, keep)  # (...,)
    return masked_softmax(normalised(scores, keep, dim, gamma), keep, dim).to(scores.dtype)


def normalised(scores: Tensor, keep: Tensor, dim: int, gamma: float) -> Tensor:
    """(x - mean) / min(sigma, gamma) over the kept positions, zero elsewhere, at least float32.

    Softmax ignores the mean; without it nothing overflows, however small sigma is.
    """
    check_gamma(gamma)
    keep = kept(scores, keep)  # (...,)
    precise = scores.to(torch.promote_types(scores.dtype, torch.float32))  # (...,)
    count = keep.sum(dim, keepdim=True).clamp(min=1)  # (..., 1, ...)
    mean = torch.where(keep, precise, 0.0).sum(dim, keepdim=True) / count  # (..., 1, ...)
    centred = torch.where(keep, precise - mean, 0.0)  # (...,)
    # Again, to remove the rounding error of the mean: equal scores then give zeros.
    left = centred.sum(dim, keepdim=True) / count  # (..., 1, ...)
    centred = torch.where(keep, centred - left, 0.0)  # (...,)
    variance = centred.square().sum(dim, keepdim=True) / count  # (..., 1, ...)
    return centred * one_over_sigma(variance, gamma)  # (...,)


def check_gamma(gamma: float) -> None:
    try:
        is_valid = not isinstance(gamma, bool) and gamma >= SIGMA_FLOOR
    except TypeError:  # a string, or None
        is_valid = False
    if not is_valid:
        allowed = "sqrt(d), infinity or a number of 1e-6 or more"
        raise ReadletError(f"gamma {gamma!r}: give {allowed}, as a float")


def one_over_sigma(variance: Tensor, gamma: float) -> Tensor:
    """1 / min(sigma, gamma); 0 for scores that are all equal, which makes their row uniform.

    Equal up to rounding: dividing by such a small sigma would amplify the rounding errors.
    """
    # Clamped before the root: the gradient of the root at zero is infinite.
    inside = variance.clamp(SIGMA_FLOOR**2, min(gamma, 1e18) ** 2)  # (...,)
    return torch.where(variance > SIGMA_FLOOR**2, inside.rsqrt(), 0.0)  # (...,)


def kept(scores: Tensor, keep: Tensor) -> Tensor:
    """The mask in the shape of the scores, without scores that represent minus infinity.

    Torch masks with minus infinity, transformers with the lowest number of the dtype, others with
    half of that: a row of only such scores would be NaN, and so would their deviation.
    """
    if not scores.is_floating_point():
        raise ReadletError(f"scores: {scores.dtype}; give floating-point numbers")
    check_keep(keep, scores)
    lowest = max(MASKED, torch.finfo(scores.dtype).min / 2)
    return keep & ~(scores <= lowest)  # (...,); NaN is kept, so that it is noticed


def check_keep(keep: Tensor, scores: Tensor) -> None:
    """Reject masks of numbers or of a wrong shape, which would silently give wrong results."""
    if keep.dtype != torch.bool:
        raise ReadletError(f"mask: {keep.dtype} instead of bool; True means keep")
    try:
        keep.expand_as(scores)
    except RuntimeError:
        shapes = f"{tuple(keep.shape)} for scores of {tuple(scores.shape)}"
        raise ReadletError(f"mask: {shapes}; give one that broadcasts to them") from None


def _fill(scores: Tensor, keep: Tensor) -> Tensor:
    """Scores in at least float32, with whatever was in the masked positions overwritten."""
    precise = scores.to(torch.promote_types(scores.dtype, torch.float32))  # (...,)
    return torch.where(keep, precise, MASKED)  # (...,)
