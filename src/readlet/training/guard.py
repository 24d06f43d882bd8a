"""Watches the loss: a number that is none, or a sudden jump, means that a step went wrong."""

import math

_SMOOTHING = 0.9  # of the running mean
_NOTEWORTHY = 1.0  # nats; once a model knows its data by heart, any factor is mere noise


def is_bad(loss: float, mean: float | None, spike: float) -> bool:
    """Whether a loss is not finite, or exceeds the running mean by far: by the factor `spike`."""
    if not math.isfinite(loss):
        return True
    return mean is not None and loss > max(spike * mean, mean + _NOTEWORTHY)


def running_mean(mean: float | None, loss: float) -> float:
    return loss if mean is None else _SMOOTHING * mean + (1 - _SMOOTHING) * loss
