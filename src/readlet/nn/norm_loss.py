"""Cross entropy with NormSoftmax (paper 002) for classes.

Scores of deviation 1 cannot lie far apart when there are few of them, so without a cap the
confidence is bounded: with n classes, p <= 1 / (1 + (n - 1) exp(-n / sqrt(n - 1))). That is 0.88
for for two classes, 0.76 for ten and above 0.99 from about 80 on. A finite gamma lifts it.
"""

import math
import warnings
from functools import cache

import torch
from torch import Tensor

from readlet.nn.softmax import norm_log_softmax

_LOW = 0.99  # a bound below this keeps the loss from going to zero


def norm_cross_entropy(logits: Tensor, labels: Tensor, gamma: float = math.inf) -> Tensor:
    """Mean of -log p over the rows: logits (B, C), labels (B,) -> ()."""
    if math.isinf(gamma) and not torch.compiler.is_compiling():
        _warn_of_bound(logits.shape[-1])
    keep = torch.ones(1, dtype=torch.bool, device=logits.device)  # (1,)
    log_p = norm_log_softmax(logits, keep, gamma=gamma)  # (B, C)
    return -log_p.gather(1, labels.unsqueeze(1)).mean()  # ()


def highest_confidence(classes: int) -> float:
    """The largest probability that NormSoftmax without a cap can give: all other scores equal."""
    if classes == 1:
        return 1.0
    return 1 / (1 + (classes - 1) * math.exp(-classes / math.sqrt(classes - 1)))


@cache
def _warn_of_bound(classes: int) -> None:
    bound = highest_confidence(classes)
    if bound < _LOW:
        warnings.warn(
            f"NormSoftmax over {classes} classes without a cap is never surer than {bound:.2f}; "
            "give a finite gamma to lift that",
            stacklevel=3,
        )
