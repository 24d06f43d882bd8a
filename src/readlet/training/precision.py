"""Arithmetic of the forward and backward pass: float32, bfloat16, or float16 with loss scaling."""

import subprocess
import sys
from contextlib import AbstractContextManager, nullcontext
from functools import cache

import torch
from torch import Tensor
from torch.amp.grad_scaler import GradScaler

from readlet.errors import ReadletError
from readlet.recipe.recipe import Precision
from readlet.training import precision_trial

_DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


def check_precision(precision: Precision, device: torch.device) -> None:
    """Some builds of torch lack operations of short numbers on some processors: tell it at once."""
    if device.type == "cpu" and precision in _DTYPES and not _works_on_cpu(precision):
        fault = f"training.precision={precision}: torch cannot do that on this processor"
        raise ReadletError(f"{fault}; set training.precision=float32")


@cache
def _works_on_cpu(precision: Precision) -> bool:
    # -P: the files beside it are no modules that torch should find.
    command = [sys.executable, "-P", precision_trial.__file__, precision]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


class MixedPrecision:
    """Weights and optimiser stay in float32; products run in the chosen type."""

    def __init__(self, precision: Precision, device: torch.device) -> None:
        self._dtype = _DTYPES.get(precision)
        self._device = device.type
        # float16 has no room for small gradients: the loss is scaled up, the gradients back down.
        self.scaler = GradScaler(device.type, enabled=precision == "float16")

    def autocast(self) -> AbstractContextManager[None]:
        if self._dtype is None:
            return nullcontext()
        # No cache of cast weights: inside a captured graph it would outlive its memory.
        return torch.autocast(self._device, self._dtype, cache_enabled=False)

    def backward(self, loss: Tensor) -> None:
        torch.autograd.backward(self.scaler.scale(loss))

    def clip(self, optimizer: torch.optim.Optimizer, norm: float) -> None:
        self.scaler.unscale_(optimizer)
        weights = [p for group in optimizer.param_groups for p in group["params"]]
        torch.nn.utils.clip_grad_norm_(weights, norm)

    def step(self, optimizer: torch.optim.Optimizer) -> None:
        """A step; left out by the scaler when a gradient overflowed, and the scale is lowered."""
        self.scaler.step(optimizer)
        self.scaler.update()

    @property
    def is_scaled(self) -> bool:
        return self.scaler.is_enabled()

    def scale(self) -> float:
        """What the loss is multiplied by. Waits for the device."""
        return float(self.scaler.get_scale())
