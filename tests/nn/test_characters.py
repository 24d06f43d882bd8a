"""The character layer, with and without languages, against plain loops; padding, gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from readlet.nn.characters import CharacterConvolution

Check = Callable[[nn.Module, Tensor], None]

SIZE, WIDTH, FILTERS, KERNEL, LANGUAGES = 11, 4, 6, 5, 2
WORDS = [[3, 1, 4, 1, 5, 9, 2], [6], [5, 3, 5], [5, 3, 5], []]
SPOKEN = torch.tensor([0, 1, 2, 0, 1])  # (N,) 0 is unknown

variants = pytest.mark.parametrize("variant", ["none", "added", "film"])
with_languages = pytest.mark.parametrize("variant", ["added", "film"])


def build(variant: Any, dropout: float = 0.0) -> CharacterConvolution:
    torch.manual_seed(3)
    return CharacterConvolution(
        SIZE,
        WIDTH,
        FILTERS,
        KERNEL,
        0.0,
        language=variant,
        languages=LANGUAGES,
        language_dropout=dropout,
    )


def spread(module: CharacterConvolution) -> CharacterConvolution:
    """Vectors that differ between languages, and a bias: at the start they are all zero."""
    if module.language != "none":
        nn.init.normal_(module.languages.weight)
    nn.init.constant_(module.convolution.bias, 0.5)  # unmasked padding would win
    return module


def padded(width: int) -> Tensor:
    return torch.tensor([word + [0] * (width - len(word)) for word in WORDS])  # (N, width)


def oracle(module: CharacterConvolution, word: list[int], language: int) -> np.ndarray:
    """One word that was never padded; every character sees two on either side."""
    arrays = {name: value.detach().numpy() for name, value in module.named_parameters()}
    vector = arrays["languages.weight"][language] if module.language != "none" else 0.0
    weight = arrays["convolution.weight"][:, :, 0]  # (FILTERS, WIDTH, KERNEL)
    best = np.zeros(FILTERS)
    for i in range(len(word)):
        value = arrays["convolution.bias"].astype(float)
        for k in range(KERNEL):
            j = i + k - KERNEL // 2
            if 0 <= j < len(word):
                character = arrays["embedding.weight"][word[j]]
                if module.language == "added":
                    character = character + vector
                value = value + weight[:, :, k] @ character
        if module.language == "film":
            value = (1 + vector[:FILTERS]) * value + vector[FILTERS:]
        best = np.maximum(best, value)  # starts at zero: ReLU
    return best


@variants
@pytest.mark.parametrize("width", [7, 12, 16])
def test_values_at_every_padded_width(variant: str, width: int) -> None:
    module = spread(build(variant)).eval()
    got = module(padded(width), SPOKEN).detach().numpy()
    for row, word, language in zip(got, WORDS, SPOKEN.tolist(), strict=True):
        np.testing.assert_allclose(row, oracle(module, word, language), atol=1e-5)
    assert np.allclose(got[2], got[3]) == (variant == "none")  # the same word in two languages
    assert (got[4] == 0).all()


def test_the_padding_row_stays_zero_in_training() -> None:
    module = build("none").train()
    optimiser = torch.optim.AdamW(module.parameters(), lr=0.1)
    for _ in range(3):
        optimiser.zero_grad()
        module(padded(9), SPOKEN).square().sum().backward()
        optimiser.step()
    assert (module.embedding.weight[0] == 0).all()


@variants
def test_gradients(variant: str) -> None:
    module = spread(build(variant)).double()
    names = [name for name, _ in module.named_parameters()]

    def run(*values: Tensor) -> Tensor:
        given = dict(zip(names, values, strict=True))
        output: Tensor = torch.func.functional_call(module, given, (padded(9), SPOKEN))
        return output[:, :3]

    # The padding row is left out of the check: its gradient is zero by design.
    embedding = module.embedding.weight.detach()
    rest = [p.detach().clone().requires_grad_() for p in list(module.parameters())[1:]]
    rows = embedding[1:].clone().requires_grad_()
    assert torch.autograd.gradcheck(
        lambda rows, *rest: run(torch.cat([embedding[:1], rows]), *rest), (rows, *rest)
    )


@variants
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(variant: str, dtype: torch.dtype, every_parameter_learns: Check) -> None:
    module = spread(build(variant)).to(dtype)
    output = module(padded(9), SPOKEN)
    assert output.dtype == dtype
    assert (output[4] == 0).all()
    every_parameter_learns(module, output)


@variants
def test_every_parameter_and_every_language_learns(
    variant: str, every_parameter_learns: Check
) -> None:
    module = build(variant)
    every_parameter_learns(module, module(padded(9), SPOKEN))
    if variant != "none":
        gradient = module.languages.weight.grad
        assert gradient is not None
        assert (gradient.abs().sum(dim=1) > 0).all()


@with_languages
def test_it_starts_as_the_layer_without_languages(variant: str) -> None:
    plain = build("none")
    after = torch.rand(())
    module = build(variant)
    assert torch.rand(()) == after  # no more random numbers were drawn
    torch.testing.assert_close(module(padded(7), SPOKEN), plain(padded(7), SPOKEN))


@with_languages
def test_some_words_are_of_unknown_language_in_training(variant: str) -> None:
    module = spread(build(variant, dropout=0.3))
    word = torch.tensor([[3, 1, 4]]).expand(2000, 3)  # (N, 3)
    known = torch.full((2000,), 2)  # (N,)
    unknown = torch.zeros(2000, dtype=torch.int64)  # (N,)
    with torch.no_grad():
        as_unknown = module.eval()(word[:1], unknown[:1])  # (1, F)
        as_known = module(word[:1], known[:1])  # (1, F)
        drawn = module.train()(word, known)  # (N, F)
    is_unknown = torch.isclose(drawn, as_unknown, atol=1e-5).all(dim=1)  # (N,)
    is_known = torch.isclose(drawn, as_known, atol=1e-5).all(dim=1)  # (N,)
    assert (is_unknown ^ is_known).all()
    assert is_unknown.float().mean().item() == pytest.approx(0.3, abs=0.05)
