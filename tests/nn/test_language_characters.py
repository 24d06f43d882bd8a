"""The character layers that know the language, against a plain loop in NumPy."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from readlet.nn.characters import CharacterConvolution
from readlet.nn.language_characters import AddedLanguage, FilmLanguage

Check = Callable[[nn.Module, Tensor], None]
Layer = type[AddedLanguage] | type[FilmLanguage]

SIZE, WIDTH, FILTERS, KERNEL, LANGUAGES = 9, 4, 6, 5, 2
WORDS = [[3, 1, 4, 1, 5], [6], [5, 3, 5], [5, 3, 5], []]
SPOKEN = torch.tensor([0, 1, 2, 0, 1])  # (N,) 0 is unknown

layers = pytest.mark.parametrize("layer", [AddedLanguage, FilmLanguage])


def build(layer: Layer, dropout: float = 0.0) -> AddedLanguage | FilmLanguage:
    torch.manual_seed(3)
    sizes = SIZE, WIDTH, FILTERS, KERNEL, 0.0
    return layer(*sizes, languages=LANGUAGES, language_dropout=dropout)


def spread(module: AddedLanguage | FilmLanguage) -> None:
    """Vectors that differ between languages: at the start they are all zero."""
    torch.nn.init.normal_(module.languages.weight)
    torch.nn.init.normal_(module.convolution.bias)


def padded(width: int) -> Tensor:
    return torch.tensor([word + [0] * (width - len(word)) for word in WORDS])  # (N, width)


def oracle(module: AddedLanguage | FilmLanguage, word: list[int], language: int) -> np.ndarray:
    """One word that was never padded."""
    arrays = {name: value.detach().numpy() for name, value in module.named_parameters()}
    vector, bias = arrays["languages.weight"][language], arrays["convolution.bias"]
    weight = arrays["convolution.weight"][:, :, 0]  # (FILTERS, WIDTH, KERNEL)
    best = np.zeros(FILTERS)
    for i in range(len(word)):
        value = bias.astype(float)
        for k in range(KERNEL):
            j = i + k - KERNEL // 2
            if 0 <= j < len(word):
                character = arrays["embedding.weight"][word[j]]
                if isinstance(module, AddedLanguage):
                    character = character + vector
                value = value + weight[:, :, k] @ character
        if isinstance(module, FilmLanguage):
            value = (1 + vector[:FILTERS]) * value + vector[FILTERS:]
        best = np.maximum(best, value)
    return best


@layers
@pytest.mark.parametrize("width", [5, 11])
def test_values_at_every_padded_width(layer: Layer, width: int) -> None:
    module = build(layer).eval()
    spread(module)
    got = module(padded(width), SPOKEN).detach().numpy()
    for row, word, language in zip(got, WORDS, SPOKEN.tolist(), strict=True):
        np.testing.assert_allclose(row, oracle(module, word, language), atol=1e-5)
    assert not np.allclose(got[2], got[3])  # the same word in two languages
    assert (got[4] == 0).all()


@layers
def test_it_starts_as_the_layer_without_languages(layer: Layer) -> None:
    torch.manual_seed(3)
    plain = CharacterConvolution(SIZE, WIDTH, FILTERS, KERNEL, 0.0)
    after = torch.rand(())
    module = build(layer)
    assert torch.rand(()) == after  # no more random numbers were drawn
    torch.testing.assert_close(module(padded(7), SPOKEN), plain(padded(7), SPOKEN))


@layers
def test_every_language_learns(layer: Layer, every_parameter_learns: Check) -> None:
    module = build(layer)
    every_parameter_learns(module, module(padded(7), SPOKEN))
    gradient = module.languages.weight.grad
    assert gradient is not None
    assert (gradient.abs().sum(dim=1) > 0).all()


@layers
def test_some_words_are_of_unknown_language_in_training(layer: Layer) -> None:
    module = build(layer, dropout=0.3)
    spread(module)
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


@layers
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(layer: Layer, dtype: torch.dtype) -> None:
    module = build(layer).to(dtype).eval()
    spread(module)
    output = module(padded(7), SPOKEN)
    assert output.dtype == dtype
    assert torch.isfinite(output).all()
