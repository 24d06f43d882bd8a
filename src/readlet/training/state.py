"""The state of training as named tensors: weights, their average, Adam's moments."""

import torch
from torch import Tensor, nn
from torch.amp.grad_scaler import GradScaler

from readlet.storage.tensors import detached
from readlet.training.average import Average

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
