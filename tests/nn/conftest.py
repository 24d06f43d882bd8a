"""A check that modules share."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn


@pytest.fixture
def every_parameter_learns() -> Callable[[nn.Module, Tensor], None]:
    """Check that a loss on `output` gives every parameter a finite, non-zero gradient."""

    def check(module: nn.Module, output: Tensor) -> None:
        # Random weights: a plain sum has no gradient through a softmax or a LayerNorm.
        (output * torch.randn_like(output)).sum().backward()
        for name, parameter in module.named_parameters():
            assert parameter.grad is not None, name
            assert torch.isfinite(parameter.grad).all(), name
            assert parameter.grad.abs().sum() > 0, name

    return check
