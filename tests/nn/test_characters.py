from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from readlet.nn.characters import CharacterConvolution

Check = Callable[[nn.Module, Tensor], None]

SIZE, WIDTH, FILTERS, KERNEL = 11, 4, 6, 5
WORDS = [[3, 1, 4, 1, 5, 9, 2], [6], [5, 3, 5], []]


def build() -> CharacterConvolution:
    return CharacterConvolution(SIZE, WIDTH, FILTERS, KERNEL, dropout=0.05).eval()


def padded(words: list[list[int]], width: int) -> Tensor:
    return torch.tensor([word + [0] * (width - len(word)) for word in words])  # (N, width)


def read(module: CharacterConvolution, ids: Tensor) -> Tensor:
    """Words of any language: this layer reads all alike."""
    found: Tensor = module(ids, torch.zeros(ids.shape[:-1], dtype=torch.int64))
    return found


def oracle(module: CharacterConvolution, word: list[int]) -> np.ndarray:
    """One word that was never padded; every character sees two on either side."""
    embedding = module.embedding.weight.detach().numpy()
    weight = module.convolution.weight.detach().numpy()[:, :, 0]  # (FILTERS, WIDTH, KERNEL)
    assert module.convolution.bias is not None
    bias = module.convolution.bias.detach().numpy()
    best = np.zeros(FILTERS)
    for i in range(len(word)):
        value = bias.astype(float)
        for k in range(KERNEL):
            j = i + k - KERNEL // 2
            if 0 <= j < len(word):
                value = value + weight[:, :, k] @ embedding[word[j]]
        best = np.maximum(best, value)  # starts at zero: ReLU
    return best


@pytest.mark.parametrize("width", [7, 12, 16])
def test_values_at_every_padded_width(width: int) -> None:
    module = build()
    torch.nn.init.constant_(module.convolution.bias, 0.5)  # unmasked padding would win
    got = read(module, padded(WORDS, width)).detach().numpy()
    for row, word in zip(got, WORDS, strict=True):
        np.testing.assert_allclose(row, oracle(module, word), atol=1e-6)
    assert (got[3] == 0).all()


def test_unique_words_can_be_gathered() -> None:
    module, ids = build(), padded(WORDS, 8)[torch.tensor([[0, 1, 1], [2, 0, 3]])]  # (2, 3, 8)
    unique, place = ids.view(-1, 8).unique(dim=0, return_inverse=True)
    whole = read(module, ids)
    assert whole.shape == (2, 3, FILTERS)
    torch.testing.assert_close(read(module, unique)[place].view(2, 3, FILTERS), whole)


def test_a_single_word_and_no_words() -> None:
    module = build()
    assert read(module, padded(WORDS, 8)[0]).shape == (FILTERS,)
    assert read(module, torch.zeros(0, 8, dtype=torch.int64)).shape == (0, FILTERS)


def test_the_padding_row_stays_zero_in_training() -> None:
    module = build().train()
    optimiser = torch.optim.AdamW(module.parameters(), lr=0.1)
    for _ in range(3):
        optimiser.zero_grad()
        read(module, padded(WORDS, 9)).square().sum().backward()
        optimiser.step()
    assert (module.embedding.weight[0] == 0).all()


def test_gradients() -> None:
    module = build().double()
    ids = padded(WORDS, 9)
    names = [name for name, _ in module.named_parameters()]

    def run(*values: Tensor) -> Tensor:
        output: Tensor = torch.func.functional_call(
            module,
            dict(zip(names, values, strict=True)),
            (ids, torch.zeros(len(ids), dtype=torch.int64)),
        )
        return output[:, :3]

    # The padding row is left out of the check: its gradient is zero by design.
    embedding = module.embedding.weight.detach()
    rest = [p.detach().clone().requires_grad_() for p in list(module.parameters())[1:]]
    rows = embedding[1:].clone().requires_grad_()
    assert torch.autograd.gradcheck(
        lambda rows, *rest: run(torch.cat([embedding[:1], rows]), *rest), (rows, *rest)
    )


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(dtype: torch.dtype, every_parameter_learns: Check) -> None:
    module = build().to(dtype)
    output = read(module, padded(WORDS, 9))
    assert output.dtype == dtype
    assert (output[3] == 0).all()
    every_parameter_learns(module, output)


def test_even_kernels_are_rejected() -> None:
    with pytest.raises(ValueError, match="odd"):
        CharacterConvolution(SIZE, WIDTH, FILTERS, 4, dropout=0.0)


def test_every_parameter_gets_a_gradient(every_parameter_learns: Check) -> None:
    module = build().train()
    every_parameter_learns(module, read(module, padded(WORDS, 9)))
