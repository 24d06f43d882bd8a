from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from readlet.nn.convolution import SeparableConvolution

Check = Callable[[nn.Module, Tensor], None]

IN, OUT, KERNEL = 4, 6, 5


def build() -> SeparableConvolution:
    return SeparableConvolution(IN, OUT, KERNEL)


def oracle(module: SeparableConvolution, tokens: np.ndarray) -> np.ndarray:
    """One unpadded sequence (L, IN): every product written out, nothing beyond either end."""
    depthwise = module.depthwise.weight.detach().numpy()[:, 0, 0]  # (IN, KERNEL)
    weight = module.pointwise.weight.detach().numpy()
    result = np.zeros((len(tokens), OUT))
    for i in range(len(tokens)):
        filtered = np.zeros(IN)
        for k in range(KERNEL):
            j = i + k - KERNEL // 2
            if 0 <= j < len(tokens):
                filtered += depthwise[:, k] * tokens[j]
        result[i] = np.maximum(weight @ filtered, 0)
    return result


def garbage_batch(x: Tensor) -> tuple[Tensor, Tensor]:
    """x (L, IN) as example 1 of 3, followed by large numbers in the padding."""
    length = len(x)
    batch = 100 * torch.randn(3, length + 4, IN)
    batch[1, :length] = x
    sizes = torch.tensor([length + 4, length, 0])
    return batch, torch.arange(length + 4) < sizes[:, None]


@pytest.mark.parametrize("length", [1, 3, 9])
def test_values_also_when_padded(length: int) -> None:
    module, x = build(), torch.randn(length, IN)
    expected = oracle(module, x.numpy())
    alone = module(x[None], torch.ones(1, length, dtype=torch.bool))[0]
    np.testing.assert_allclose(alone.detach().numpy(), expected, atol=1e-5)
    together = module(*garbage_batch(x))[1, :length]
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-5)


def test_padding_gets_no_gradient() -> None:
    module, x = build(), torch.randn(5, IN)
    batch, keep = garbage_batch(x)
    batch.requires_grad_()
    module(batch, keep).sum().backward()
    assert batch.grad is not None
    assert (batch.grad[~keep] == 0).all()
    assert (batch.grad[1, :5] != 0).any()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_stays_finite(dtype: torch.dtype) -> None:
    module = build().to(dtype)
    batch, keep = garbage_batch(torch.randn(5, IN))
    batch[~keep] = torch.inf
    output = module(batch.to(dtype), keep)
    assert output.dtype == dtype
    assert torch.isfinite(output).all()


def test_the_compiled_form_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    module, x = build(), torch.randn(2, 9, IN, requires_grad=True)
    keep = torch.arange(9) < torch.tensor([[9], [4]])
    expected = module(x, keep)
    wanted = torch.autograd.grad(expected.square().sum(), [x, *module.parameters()])
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    output = module(x, keep)
    found = torch.autograd.grad(output.square().sum(), [x, *module.parameters()])
    torch.testing.assert_close(output, expected)
    torch.testing.assert_close(found, wanted)


def test_even_kernels_are_rejected() -> None:
    with pytest.raises(ValueError, match="odd"):
        SeparableConvolution(IN, OUT, 4)


def test_every_parameter_gets_a_gradient(every_parameter_learns: Check) -> None:
    module = build()
    every_parameter_learns(module, module(*garbage_batch(torch.randn(5, IN))))
