"""Watches the loss: a number that is none, or a sudden jump, means that a step went wrong."""

import math

_SMOOTHING = 0.9  # of the running mean


def is_bad(loss: float, mean: float | None, spike: float) -> bool:
    """Whether a loss is not finite, or exceeds the running mean by the factor `spike`."""
    return not math.isfinite(loss) or (mean is not None and loss > spike * mean)


def running_mean(mean: float | None, loss: float) -> float:
    return loss if mean is None else _SMOOTHING * mean + (1 - _SMOOTHING) * loss
