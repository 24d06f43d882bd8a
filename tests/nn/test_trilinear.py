from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from readlet.nn.trilinear import ContextQueryAttention

Check = Callable[[nn.Module, Tensor], None]

D = 4


def mask(*sizes: int, width: int) -> Tensor:
    return torch.arange(width) < torch.tensor(sizes)[:, None]  # (B, width)


def softmax(values: np.ndarray) -> np.ndarray:
    return np.exp(values) / np.exp(values).sum()


def oracle(module: ContextQueryAttention, c: np.ndarray, q: np.ndarray) -> np.ndarray:
    """One unpadded pair (Lc, D), (Lq, D), with w . [c; q; c * q] written as it is defined."""
    w = np.concatenate(
        [
            p.detach().numpy()
            for p in (module.context_weight, module.question_weight, module.product_weight)
        ]
    )
    s = np.array([[w @ np.concatenate([x, y, x * y]) for y in q] for x in c])  # (Lc, Lq)
    s1 = np.stack([softmax(row) for row in s])
    s2 = np.stack([softmax(column) for column in s.T], axis=1)
    a, b = s1 @ q, (s1 @ s2.T) @ c
    return np.concatenate([c, a, c * a, c * b], axis=1)


def test_values_and_padding() -> None:
    module = ContextQueryAttention(D, dropout=0.1).eval()
    for weight in module.parameters():
        torch.nn.init.normal_(weight)  # large enough for the softmaxes to be far from uniform
    context, question = torch.randn(1, 6, D), torch.randn(1, 3, D)
    expected = oracle(module, context[0].numpy(), question[0].numpy())
    alone = module(context, question, mask(6, width=6), mask(3, width=3))
    np.testing.assert_allclose(alone[0].detach().numpy(), expected, atol=1e-5)

    contexts, questions = 20 * torch.randn(3, 9, D), 20 * torch.randn(3, 8, D)
    contexts[1, :6], questions[1, :3] = context[0], question[0]
    together = module(contexts, questions, mask(9, 6, 2, width=9), mask(8, 3, 0, width=8))
    torch.testing.assert_close(together[1, :6], alone[0], rtol=0, atol=1e-5)
    assert (together[1, 6:, D:] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("sizes", [(5, 0), (0, 3), (0, 0)])
def test_an_empty_side_gives_zeros(dtype: torch.dtype, sizes: tuple[int, int]) -> None:
    module = ContextQueryAttention(D, dropout=0.0).to(dtype)
    context = torch.randn(2, 5, D, dtype=dtype, requires_grad=True)
    question = torch.randn(2, 3, D, dtype=dtype, requires_grad=True)
    output = module(context, question, mask(5, sizes[0], width=5), mask(3, sizes[1], width=3))
    assert output.dtype == dtype
    assert torch.equal(output[1, :, :D], context[1])
    assert (output[1, :, D:] == 0).all()
    output.square().sum().backward()
    for tensor in (context, question, *module.parameters()):
        assert tensor.grad is not None
        assert torch.isfinite(tensor.grad).all()


def test_gradients() -> None:
    module = ContextQueryAttention(D, dropout=0.1).eval().double()
    names = [name for name, _ in module.named_parameters()]
    keeps = (mask(4, 2, width=4), mask(1, 3, width=3))

    def run(context: Tensor, question: Tensor, *weights: Tensor) -> Tensor:
        parameters = dict(zip(names, weights, strict=True))
        output: Tensor = torch.func.functional_call(module, parameters, (context, question, *keeps))
        return output

    inputs = [torch.randn(2, 4, D), torch.randn(2, 3, D), *module.parameters()]
    assert torch.autograd.gradcheck(
        run, tuple(tensor.detach().double().requires_grad_() for tensor in inputs)
    )


def test_the_array_of_all_pairs_is_never_materialised() -> None:
    module = ContextQueryAttention(D, dropout=0.0)
    largest = 0

    def note(tensor: Tensor) -> Tensor:
        nonlocal largest
        largest = max(largest, tensor.numel())
        return tensor

    context = torch.randn(1, 50, D, requires_grad=True)
    question = torch.randn(1, 30, D, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(note, note):
        module(context, question, mask(50, width=50), mask(30, width=30))
    assert 0 < largest <= 50 * 30  # neither 50 * 30 * 3 D nor 50 * 50


def test_dropout_applies_to_the_scores_only() -> None:
    module = ContextQueryAttention(D, dropout=1.0)
    context, question = torch.randn(1, 5, D), torch.randn(1, 3, D)
    output = module(context, question, mask(5, width=5), mask(3, width=3))
    # Every score is zero, so both softmaxes are uniform over real, undropped words.
    torch.testing.assert_close(output[..., :D], context)
    torch.testing.assert_close(output[0, :, D : 2 * D], question.mean(1).expand(5, D))


def test_every_parameter_gets_a_gradient(every_parameter_learns: Check) -> None:
    module = ContextQueryAttention(D, dropout=0.1)
    output = module(
        torch.randn(2, 5, D), torch.randn(2, 3, D), mask(5, 4, width=5), mask(3, 2, width=3)
    )
    every_parameter_learns(module, output)
