"""The exponential moving average (EMA) of the weights: the weights that are kept."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class Average:
    """shadow = d * shadow + (1 - d) * weight, with d = min(decay, (1 + t) / (10 + t)).

    With the warm-up of the decay, the first steps are forgotten quickly. With a decay of 0 there is
    no shadow: the weights themselves are kept.
    """

    def __init__(self, parameters: dict[str, nn.Parameter], decay: float) -> None:
        self.decay = decay
        self._parameters: dict[str, Tensor] = {**parameters}
        averaged = parameters if decay else {}
        self.shadow = {name: p.detach().clone() for name, p in averaged.items()}

    def rate(self, step: int) -> float:
        """1 - d at this step: how far the average moves towards the weights."""
        return 1.0 - min(self.decay, (1 + step) / (10 + step))

    def weights(self) -> dict[str, Tensor]:
        """The weights that are kept."""
        return self.shadow if self.decay else self._parameters

    @torch.no_grad()
    def update(self, rate: Tensor) -> None:
        """shadow += rate * (weight - shadow); `rate` is a tensor, for capture in a CUDA graph."""
        if not self.decay:
            return
        shadow = list(self.shadow.values())
        difference = torch._foreach_sub(list(self._parameters.values()), shadow)
        torch._foreach_mul_(difference, rate)
        torch._foreach_add_(shadow, difference)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Inside the `with`, the model has the averaged weights; afterwards its own again."""
        if not self.decay:
            yield
            return
        own = [weight.detach().clone() for weight in self._parameters.values()]
        self._copy(list(self.shadow.values()))
        try:
            yield
        finally:
            self._copy(own)

    @torch.no_grad()
    def _copy(self, values: list[Tensor]) -> None:
        torch._foreach_copy_(list(self._parameters.values()), values)
