"""Softmax over the kept positions of a row: the one place where masked scores are handled.

Adding the most negative number of a dtype to a score overflows to minus infinity in float16, and
a row of nothing but minus infinity has a softmax of NaN. Here the mask is boolean, the arithmetic
is at least float32, and masked scores are replaced, not shifted, so nothing can overflow.
"""

import torch
from torch import Tensor

MASKED = -1e30
"""The log-probability of a masked position.

Below every score a model can produce, yet finite, and so far from the end of the float32 range
that sums of such values (a start plus an end, say) stay finite as well. It does not fit into
float16: log-probabilities are float32 and are meant to remain so.
"""


def masked_softmax(scores: Tensor, keep: Tensor, dim: int = -1) -> Tensor:
    """Probabilities over the kept positions along `dim`, in the dtype of `scores`.

    `keep` is boolean, True means keep, and broadcasts to the shape of `scores`. Masked positions
    get zero, and so does every position of a row that keeps nothing.
    """
    probabilities = _fill(scores, keep).softmax(dim)  # (...,)
    # A row that keeps nothing is uniform up to here. The second fill makes it zero, and makes the
    # gradient that flows back into it zero too.
    return probabilities.masked_fill(~keep, 0.0).to(scores.dtype)  # (...,)


def masked_log_softmax(scores: Tensor, keep: Tensor, dim: int = -1) -> Tensor:
    """Log-probabilities over the kept positions along `dim`; `MASKED` everywhere else.

    The result is float32 (float64 for float64 scores): a loss in half precision loses digits.
    """
    return _fill(scores, keep).log_softmax(dim).masked_fill(~keep, MASKED)  # (...,)


def masked_log_sum(scores: Tensor, keep: Tensor, dim: int = -1) -> Tensor:
    """Log of the sum of exp(score) over the kept positions along `dim`, in at least float32.

    For a row that keeps nothing it is about `MASKED`: finite, and below every other.
    """
    return _fill(scores, keep).logsumexp(dim)  # (...,) without `dim`


def _fill(scores: Tensor, keep: Tensor) -> Tensor:
    """Scores in at least float32, with whatever was in the masked positions overwritten."""
    precise = scores.to(torch.promote_types(scores.dtype, torch.float32))  # (...,)
    return precise.masked_fill(~keep, MASKED)  # (...,)
