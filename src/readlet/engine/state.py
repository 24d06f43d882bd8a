"""The exponential moving average (EMA) of the weights: the weights that are kept.

The state of training as named tensors: weights, their average, Adam's moments.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.amp.grad_scaler import GradScaler

from readlet.storage.tensors import detached


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


_MOMENTS = ("exp_avg", "exp_avg_sq")


class TrainingState:
    """Reads and restores the state of a training run, exactly."""

    def __init__(
        self,
        parameters: dict[str, nn.Parameter],
        optimizer: torch.optim.Adam,
        average: Average,
        scaler: GradScaler,
    ) -> None:
        self._parameters = parameters
        self._optimizer = optimizer
        self._average = average
        self._scaler = scaler

    def tensors(self) -> dict[str, Tensor]:
        found: dict[str, Tensor] = {}
        for name, parameter in self._parameters.items():
            found[f"weight.{name}"] = parameter
            memory = self._optimizer.state[parameter]
            for moment in _MOMENTS:
                found[f"{moment}.{name}"] = memory.get(moment, torch.zeros_like(parameter))
        for name, shadow in self._average.shadow.items():
            found[f"average.{name}"] = shadow
        found["adam_steps"] = torch.tensor(float(self.updates()))
        scaler = self._scaler.state_dict()
        found["scale"] = torch.tensor(float(scaler.get("scale", 1.0)))
        found["growth"] = torch.tensor(float(scaler.get("_growth_tracker", 0)))
        return detached(found)

    @torch.no_grad()
    def restore(self, tensors: dict[str, Tensor]) -> None:
        for name, parameter in self._parameters.items():
            parameter.copy_(tensors[f"weight.{name}"])
            memory = self._optimizer.state[parameter]
            for moment in _MOMENTS:
                stored = tensors[f"{moment}.{name}"].to(parameter.device)
                if moment in memory:
                    memory[moment].copy_(stored)
                else:
                    memory[moment] = stored.clone()
            steps = tensors["adam_steps"].to(self._step_device(parameter))
            if "step" in memory:
                memory["step"].copy_(steps)
            else:
                memory["step"] = steps.clone()
        for name, shadow in self._average.shadow.items():
            shadow.copy_(tensors[f"average.{name}"])
        if self._scaler.is_enabled():
            state = self._scaler.state_dict()
            state |= {"scale": float(tensors["scale"]), "_growth_tracker": int(tensors["growth"])}
            self._scaler.load_state_dict(state)

    def updates(self) -> int:
        """The number of updates of the weights. Synchronises with the device."""
        memory = self._optimizer.state[next(iter(self._parameters.values()))]
        return int(memory.get("step", 0))

    def _step_device(self, parameter: nn.Parameter) -> torch.device:
        # Adam counts steps on the CPU unless it is fused or capturable.
        group = self._optimizer.param_groups[0]
        on_device = group.get("capturable") or group.get("fused")
        return parameter.device if on_device else torch.device("cpu")
