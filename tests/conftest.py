"""What the tests of the tensor room share."""

import os
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

# Some virtual machines announce AMX and then kill the process that uses it, which bfloat16
# products do. oneDNN reads this limit at its first product, after all conftests are loaded.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(7)


@pytest.fixture
def every_parameter_learns() -> Callable[[nn.Module, Tensor], None]:
    """A check that a loss on `output` reaches every parameter, with finite numbers."""

    def check(module: nn.Module, output: Tensor) -> None:
        # Random weights: a plain sum has no gradient through a softmax or a LayerNorm.
        (output * torch.randn_like(output)).sum().backward()
        for name, parameter in module.named_parameters():
            assert parameter.grad is not None, name
            assert torch.isfinite(parameter.grad).all(), name
            assert parameter.grad.abs().sum() > 0, name

    return check
