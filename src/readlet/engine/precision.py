"""Arithmetic of the forward and backward pass: float32, bfloat16, or float16 with loss scaling."""

import subprocess
from contextlib import AbstractContextManager, nullcontext
from functools import cache

import torch
from torch import Tensor
from torch.amp.grad_scaler import GradScaler

from readlet.errors import ReadletError
from readlet.processes import own_command
from readlet.recipe.recipe import Precision

_DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


def check_precision(precision: Precision, device: torch.device) -> None:
    """Some builds of torch lack half-precision operations on some CPUs: report it at once."""
    if device.type == "cpu" and precision in _DTYPES and not _works_on_cpu(precision):
        fault = f"training.precision={precision}: not supported by torch on this CPU"
        raise ReadletError(f"{fault}; set training.precision=float32")


@cache
def _works_on_cpu(precision: Precision) -> bool:
    command = own_command("readlet.engine.precision_trial", precision)
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


class MixedPrecision:
    """Weights and optimiser stay in float32; products run in the chosen dtype."""

    def __init__(self, precision: Precision, device: torch.device) -> None:
        self._dtype = _DTYPES.get(precision)
        self._device = device.type
        # Small gradients underflow in float16: the loss is scaled up, the gradients back down.
        self.scaler = GradScaler(device.type, enabled=precision == "float16")

    def autocast(self) -> AbstractContextManager[None]:
        if self._dtype is None:
            return nullcontext()
        # No cache of cast weights: in a captured graph it would outlive its memory.
        return torch.autocast(self._device, self._dtype, cache_enabled=False)

    def backward(self, loss: Tensor) -> None:
        torch.autograd.backward(self.scaler.scale(loss))

    def clip(self, optimizer: torch.optim.Optimizer, norm: float) -> None:
        self.scaler.unscale_(optimizer)
        weights = [p for group in optimizer.param_groups for p in group["params"]]
        torch.nn.utils.clip_grad_norm_(weights, norm)

    def step(self, optimizer: torch.optim.Optimizer) -> None:
        """A step; if a gradient overflowed, the scaler skips it and lowers the scale."""
        self.scaler.step(optimizer)
        self.scaler.update()

    @property
    def is_scaled(self) -> bool:
        return self.scaler.is_enabled()

    def scale(self) -> float:
        """The factor of the loss. Synchronises with the device."""
        return float(self.scaler.get_scale())
