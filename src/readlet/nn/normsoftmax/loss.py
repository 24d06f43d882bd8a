"""Cross entropy with NormSoftmax (2022) for classes, and the bound on its confidence.

A few scores with a standard deviation of 1 cannot be far apart, so without a cap the confidence
is bounded: with n classes, p <= 1 / (1 + (n - 1) exp(-n / sqrt(n - 1))). That is 0.88 for two
classes, 0.76 for ten and above 0.99 from about 80 on. A gamma below the deviation of the scores
raises the bound; a larger one changes nothing. The same is true for the words of a context.

Two scores divided by their deviation always differ by 2, whatever the logits are: the loss then has
no gradient. So with two classes a row learns only if its deviation is above gamma. The first
logits of a classifier are close together; gamma must be far below their deviation, say 0.01.
"""

import math
import warnings
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

from readlet.errors import ReadletError
from readlet.nn.softmax import norm_log_softmax

IGNORED = -100  # torch's `ignore_index`
_LOW = 0.99  # below this bound the loss stays far from zero


def norm_cross_entropy(logits: Tensor, labels: Tensor, gamma: float = math.inf) -> Tensor:
    """Mean of -log p over the rows: logits (B, C), labels (B,) -> (). Label -100 is ignored."""
    if logits.dim() != 2 or labels.shape != logits.shape[:1]:
        shapes = f"logits {tuple(logits.shape)}, labels {tuple(labels.shape)}"
        raise ReadletError(f"{shapes}; give (rows, classes) and (rows,)")
    if gamma == math.inf:
        if logits.shape[1] == 2:
            fault = "NormSoftmax over 2 classes without a cap: the loss has no gradient"
            raise ReadletError(
                f"{fault}; set gamma far below the deviation of the scores, say 0.01"
            )
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
    """Once for each count of classes or words; `name` is the name of the cap there."""
    if not torch.compiler.is_compiling():  # a warning would cause a graph break
        _warn(count, what, name)


@cache
def _warn(count: int, what: str, name: str) -> None:
    bound = highest_confidence(count)
    if bound < _LOW:
        warnings.warn(
            f"NormSoftmax over {count} {what} without a cap has a confidence of at most "
            f"{bound:.2f}; set {name} below the deviation of the scores, for example to 1",
            stacklevel=4,
        )
