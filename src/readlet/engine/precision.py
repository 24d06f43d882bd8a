"""Arithmetic of the forward and backward pass: float32, bfloat16, or float16 with loss scaling."""

import subprocess
import sys
from contextlib import AbstractContextManager, nullcontext
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn
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
    command = own_command("readlet.engine.precision", precision)
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


def _trial(dtype: torch.dtype) -> None:
    """The layers of a network, forward and backward in half precision on the CPU.

    In a process of its own: if torch misdetects the CPU, an illegal instruction ends it.
    """
    with torch.autocast("cpu", dtype):
        x = torch.randn(2, 96, 32, requires_grad=True)  # (B, D, L)
        x = nn.Conv1d(96, 96, 5, padding=2, groups=96)(x).transpose(1, 2)  # (B, L, D)
        x = nn.Linear(97, 96)(nn.Linear(96, 97)(x))  # (B, L, D)
        heads = x.view(2, 32, 6, 16).transpose(1, 2)  # (B, H, L, E)
        mixed = F.scaled_dot_product_attention(heads, heads, heads)  # (B, H, L, E)
        product = mixed @ mixed.transpose(-1, -2)  # (B, H, L, L)
    torch.autograd.backward(product.float().sum())


if __name__ == "__main__":
    _trial(_DTYPES[sys.argv[1]])
