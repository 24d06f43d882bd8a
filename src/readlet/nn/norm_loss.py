"""Cross entropy with NormSoftmax (paper 002) for classes, and the bound on its confidence.

Scores of deviation 1 cannot lie far apart when there are few of them, so without a cap the
confidence is bounded: with n classes, p <= 1 / (1 + (n - 1) exp(-n / sqrt(n - 1))). That is 0.88
for two classes, 0.76 for ten and above 0.99 from about 80 on. A gamma below the deviation of the
scores lifts it; a larger one changes nothing. The same holds for the words of a context.
"""

import math
import warnings
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

from readlet.errors import ReadletError
from readlet.nn.softmax import norm_log_softmax

IGNORED = -100  # torch's label for what is left out
_LOW = 0.99  # a bound below this keeps the loss from going to zero


def norm_cross_entropy(logits: Tensor, labels: Tensor, gamma: float = math.inf) -> Tensor:
    """Mean of -log p over the rows: logits (B, C), labels (B,) -> (). Label -100: no row of it."""
    if logits.dim() != 2 or labels.shape != logits.shape[:1]:
        shapes = f"logits {tuple(logits.shape)}, labels {tuple(labels.shape)}"
        raise ReadletError(f"{shapes}; give (rows, classes) and (rows,)")
    if gamma == math.inf:
        warn_of_bound(logits.shape[1], "classes", "gamma")
    keep = torch.ones(1, dtype=torch.bool, device=logits.device)  # (1,)
    log_p = norm_log_softmax(logits, keep, gamma=gamma)  # (B, C)
    return F.nll_loss(log_p, labels, ignore_index=IGNORED)  # ()


def highest_confidence(classes: int) -> float:
    """The largest probability that NormSoftmax without a cap can give: all other scores equal."""
    if classes == 1:
        return 1.0
    return 1 / (1 + (classes - 1) * math.exp(-classes / math.sqrt(classes - 1)))


def warn_of_bound(count: int, what: str, name: str) -> None:
    """Once for each count of classes or words; `name` is what the cap is called there."""
    if not torch.compiler.is_compiling():  # a warning would break the program in two
        _warn(count, what, name)


@cache
def _warn(count: int, what: str, name: str) -> None:
    bound = highest_confidence(count)
    if bound < _LOW:
        warnings.warn(
            f"NormSoftmax over {count} {what} without a cap is never surer than {bound:.2f}; "
            f"a {name} below the deviation of the scores, 1 say, lifts that",
            stacklevel=4,
        )
