"""Watches the loss: a number that is none, or a sudden jump, means that a step went wrong."""

import math

_SMOOTHING = 0.9  # of the running mean
# In nats. Once a model knows its data by heart any factor is mere noise; and from a middling loss
# no factor reaches the loss of guessing, which is twice the logarithm of a passage's length.
_NOTEWORTHY, _ALARMING = 1.0, 5.0


def is_bad(loss: float, mean: float | None, spike: float, guessing: float) -> bool:
    """Whether a loss is not finite, or exceeds the running mean by far: by the factor `spike`.

    The first one has no mean before it: that must not exceed the loss of guessing by far.
    """
    if not math.isfinite(loss):
        return True
    if mean is None:
        return loss - guessing > _ALARMING
    return loss - mean > min(max((spike - 1.0) * mean, _NOTEWORTHY), _ALARMING)


def running_mean(mean: float | None, loss: float) -> float:
    return loss if mean is None else _SMOOTHING * mean + (1 - _SMOOTHING) * loss
