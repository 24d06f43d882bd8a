from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from readlet.nn.highway import CARRY_BIAS, Highway

Check = Callable[[nn.Module, Tensor], None]

D, LAYERS = 5, 2


def oracle(module: Highway, x: np.ndarray) -> np.ndarray:
    """One vector."""
    for layer in module.layers:
        weight, bias = (p.detach().numpy() for p in layer.parameters())
        transform = np.maximum(weight[:D] @ x + bias[:D], 0)
        gate = 1 / (1 + np.exp(-(weight[D:] @ x + bias[D:])))
        x = gate * transform + (1 - gate) * x
    return x


def test_values() -> None:
    module, x = Highway(D, LAYERS, dropout=0.3).eval(), torch.randn(2, 3, D)
    got = module(x).detach().numpy()
    for b in range(2):
        for i in range(3):
            np.testing.assert_allclose(got[b, i], oracle(module, x[b, i].numpy()), atol=1e-6)


def test_a_new_layer_mostly_passes_its_input_on() -> None:
    module = Highway(D, LAYERS, dropout=0.0)
    for layer in module.layers:
        bias = layer.get_parameter("bias")
        assert (bias[D:] == CARRY_BIAS).all()
        assert (bias[:D] != CARRY_BIAS).all()


def test_batch_composition_changes_nothing() -> None:
    module, x = Highway(D, LAYERS, dropout=0.3).eval(), torch.randn(1, 4, D)
    batch = 50 * torch.randn(3, 9, D)
    batch[1, :4] = x[0]
    torch.testing.assert_close(module(batch)[1, :4], module(x)[0], rtol=0, atol=1e-5)


def test_dropout_never_drops_the_carried_input() -> None:
    module, x = Highway(D, 1, dropout=1.0), torch.randn(3, D)
    weight, bias = (p.detach() for p in module.layers[0].parameters())
    gate = torch.sigmoid(x @ weight[D:].T + bias[D:])
    torch.testing.assert_close(module(x), (1 - gate) * x)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_close(dtype: torch.dtype) -> None:
    module, x = Highway(D, LAYERS, dropout=0.3).eval(), torch.randn(4, D)
    exact = module(x)
    half = module.to(dtype)(x.to(dtype))
    assert half.dtype == dtype
    torch.testing.assert_close(half.float(), exact, rtol=0, atol=3e-2)


def test_every_parameter_gets_a_gradient(every_parameter_learns: Check) -> None:
    module = Highway(D, LAYERS, dropout=0.1)
    every_parameter_learns(module, module(torch.randn(4, 6, D)))
