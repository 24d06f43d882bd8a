"""The character layers against plain loops; padding, gradients, half precision."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from readlet.nn.characters import AddedLanguage, CharacterConvolution, FilmLanguage

Check = Callable[[nn.Module, Tensor], None]

CHARACTERS_SIZE, CHARACTERS_WIDTH, CHARACTERS_FILTERS, CHARACTERS_KERNEL = 11, 4, 6, 5
CHARACTERS_WORDS = [[3, 1, 4, 1, 5, 9, 2], [6], [5, 3, 5], []]


def characters_build() -> CharacterConvolution:
    return CharacterConvolution(
        CHARACTERS_SIZE, CHARACTERS_WIDTH, CHARACTERS_FILTERS, CHARACTERS_KERNEL, dropout=0.05
    ).eval()


def characters_padded(words: list[list[int]], width: int) -> Tensor:
    return torch.tensor([word + [0] * (width - len(word)) for word in words])  # (N, width)


def read(module: CharacterConvolution, ids: Tensor) -> Tensor:
    """Words of any language: this layer reads all alike."""
    found: Tensor = module(ids, torch.zeros(ids.shape[:-1], dtype=torch.int64))
    return found


def characters_oracle(module: CharacterConvolution, word: list[int]) -> np.ndarray:
    """One word that was never padded; every character sees two on either side."""
    embedding = module.embedding.weight.detach().numpy()
    weight = module.convolution.weight.detach().numpy()[:, :, 0]  # (FILTERS, WIDTH, KERNEL)
    assert module.convolution.bias is not None
    bias = module.convolution.bias.detach().numpy()
    best = np.zeros(CHARACTERS_FILTERS)
    for i in range(len(word)):
        value = bias.astype(float)
        for k in range(CHARACTERS_KERNEL):
            j = i + k - CHARACTERS_KERNEL // 2
            if 0 <= j < len(word):
                value = value + weight[:, :, k] @ embedding[word[j]]
        best = np.maximum(best, value)  # starts at zero: ReLU
    return best


@pytest.mark.parametrize("width", [7, 12, 16])
def test_characters_values_at_every_padded_width(width: int) -> None:
    module = characters_build()
    torch.nn.init.constant_(module.convolution.bias, 0.5)  # unmasked padding would win
    got = read(module, characters_padded(CHARACTERS_WORDS, width)).detach().numpy()
    for row, word in zip(got, CHARACTERS_WORDS, strict=True):
        np.testing.assert_allclose(row, characters_oracle(module, word), atol=1e-6)
    assert (got[3] == 0).all()


def test_the_padding_row_stays_zero_in_training() -> None:
    module = characters_build().train()
    optimiser = torch.optim.AdamW(module.parameters(), lr=0.1)
    for _ in range(3):
        optimiser.zero_grad()
        read(module, characters_padded(CHARACTERS_WORDS, 9)).square().sum().backward()
        optimiser.step()
    assert (module.embedding.weight[0] == 0).all()


def test_gradients() -> None:
    module = characters_build().double()
    ids = characters_padded(CHARACTERS_WORDS, 9)
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
def test_characters_half_precision(dtype: torch.dtype, every_parameter_learns: Check) -> None:
    module = characters_build().to(dtype)
    output = read(module, characters_padded(CHARACTERS_WORDS, 9))
    assert output.dtype == dtype
    assert (output[3] == 0).all()
    every_parameter_learns(module, output)


def test_every_parameter_gets_a_gradient(every_parameter_learns: Check) -> None:
    module = characters_build().train()
    every_parameter_learns(module, read(module, characters_padded(CHARACTERS_WORDS, 9)))


Layer = type[AddedLanguage] | type[FilmLanguage]

(
    LANGUAGE_CHARACTERS_SIZE,
    LANGUAGE_CHARACTERS_WIDTH,
    LANGUAGE_CHARACTERS_FILTERS,
    LANGUAGE_CHARACTERS_KERNEL,
    LANGUAGES,
) = 9, 4, 6, 5, 2
LANGUAGE_CHARACTERS_WORDS = [[3, 1, 4, 1, 5], [6], [5, 3, 5], [5, 3, 5], []]
SPOKEN = torch.tensor([0, 1, 2, 0, 1])  # (N,) 0 is unknown

layers = pytest.mark.parametrize("layer", [AddedLanguage, FilmLanguage])


def language_characters_build(layer: Layer, dropout: float = 0.0) -> AddedLanguage | FilmLanguage:
    torch.manual_seed(3)
    sizes = (
        LANGUAGE_CHARACTERS_SIZE,
        LANGUAGE_CHARACTERS_WIDTH,
        LANGUAGE_CHARACTERS_FILTERS,
        LANGUAGE_CHARACTERS_KERNEL,
        0.0,
    )
    return layer(*sizes, languages=LANGUAGES, language_dropout=dropout)


def spread(module: AddedLanguage | FilmLanguage) -> None:
    """Vectors that differ between languages: at the start they are all zero."""
    torch.nn.init.normal_(module.languages.weight)
    torch.nn.init.normal_(module.convolution.bias)


def language_characters_padded(width: int) -> Tensor:
    return torch.tensor(
        [word + [0] * (width - len(word)) for word in LANGUAGE_CHARACTERS_WORDS]
    )  # (N, width)


def language_characters_oracle(
    module: AddedLanguage | FilmLanguage, word: list[int], language: int
) -> np.ndarray:
    """One word that was never padded."""
    arrays = {name: value.detach().numpy() for name, value in module.named_parameters()}
    vector, bias = arrays["languages.weight"][language], arrays["convolution.bias"]
    weight = arrays["convolution.weight"][:, :, 0]  # (FILTERS, WIDTH, KERNEL)
    best = np.zeros(LANGUAGE_CHARACTERS_FILTERS)
    for i in range(len(word)):
        value = bias.astype(float)
        for k in range(LANGUAGE_CHARACTERS_KERNEL):
            j = i + k - LANGUAGE_CHARACTERS_KERNEL // 2
            if 0 <= j < len(word):
                character = arrays["embedding.weight"][word[j]]
                if isinstance(module, AddedLanguage):
                    character = character + vector
                value = value + weight[:, :, k] @ character
        if isinstance(module, FilmLanguage):
            value = (1 + vector[:LANGUAGE_CHARACTERS_FILTERS]) * value + vector[
                LANGUAGE_CHARACTERS_FILTERS:
            ]
        best = np.maximum(best, value)
    return best


@layers
@pytest.mark.parametrize("width", [5, 11])
def test_language_characters_values_at_every_padded_width(layer: Layer, width: int) -> None:
    module = language_characters_build(layer).eval()
    spread(module)
    got = module(language_characters_padded(width), SPOKEN).detach().numpy()
    for row, word, language in zip(got, LANGUAGE_CHARACTERS_WORDS, SPOKEN.tolist(), strict=True):
        np.testing.assert_allclose(
            row, language_characters_oracle(module, word, language), atol=1e-5
        )
    assert not np.allclose(got[2], got[3])  # the same word in two languages
    assert (got[4] == 0).all()


@layers
def test_it_starts_as_the_layer_without_languages(layer: Layer) -> None:
    torch.manual_seed(3)
    plain = CharacterConvolution(
        LANGUAGE_CHARACTERS_SIZE,
        LANGUAGE_CHARACTERS_WIDTH,
        LANGUAGE_CHARACTERS_FILTERS,
        LANGUAGE_CHARACTERS_KERNEL,
        0.0,
    )
    after = torch.rand(())
    module = language_characters_build(layer)
    assert torch.rand(()) == after  # no more random numbers were drawn
    torch.testing.assert_close(
        module(language_characters_padded(7), SPOKEN), plain(language_characters_padded(7), SPOKEN)
    )


@layers
def test_every_language_learns(layer: Layer, every_parameter_learns: Check) -> None:
    module = language_characters_build(layer)
    every_parameter_learns(module, module(language_characters_padded(7), SPOKEN))
    gradient = module.languages.weight.grad
    assert gradient is not None
    assert (gradient.abs().sum(dim=1) > 0).all()


@layers
def test_some_words_are_of_unknown_language_in_training(layer: Layer) -> None:
    module = language_characters_build(layer, dropout=0.3)
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
def test_language_characters_half_precision(layer: Layer, dtype: torch.dtype) -> None:
    module = language_characters_build(layer).to(dtype).eval()
    spread(module)
    output = module(language_characters_padded(7), SPOKEN)
    assert output.dtype == dtype
    assert torch.isfinite(output).all()
