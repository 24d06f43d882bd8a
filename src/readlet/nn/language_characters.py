"""Character convolutions that know the language of the word.

Signorelli and Sirocchi found that the character layer depends on the language, and proposed to tell
it the language. Both ways begin as the layer without a language: what they add starts at zero.
"""

import torch
from torch import Tensor, nn

from readlet.nn.characters import CharacterConvolution

UNKNOWN_LANGUAGE = 0


class LanguageVectors(nn.Module):
    """A learned vector for each language, and one for words of unknown language.

    In training, a share of the words is treated as of unknown language, so that its vector is
    learned from all languages.
    """

    def __init__(self, languages: int, width: int, dropout: float) -> None:
        super().__init__()
        # No random numbers are drawn: the rest of the network starts as it would without this.
        self.weight = nn.Parameter(torch.zeros(1 + languages, width))  # (1 + languages, width)
        self.dropout = dropout

    def forward(self, languages: Tensor) -> Tensor:
        """languages (N,), 0 is unknown -> (N, width)."""
        if self.training:
            draw = torch.rand(languages.shape, device=languages.device)  # (N,), in [0, 1)
            languages = languages.masked_fill(draw < self.dropout, UNKNOWN_LANGUAGE)  # (N,)
        return self.weight.index_select(0, languages)  # (N, width)


class AddedLanguage(CharacterConvolution):
    """x_c + v_l: the language's vector is added to that of every character."""

    def __init__(
        self,
        vocabulary_size: int,
        character_width: int,
        filters: int,
        kernel: int,
        dropout: float,
        *,
        languages: int,
        language_dropout: float,
    ) -> None:
        super().__init__(vocabulary_size, character_width, filters, kernel, dropout)
        self.languages = LanguageVectors(languages, character_width, language_dropout)

    def of_languages(self, languages: Tensor) -> Tensor:
        vectors: Tensor = self.languages(languages)  # (N, C)
        return vectors

    def of_characters(self, words: Tensor, padding: Tensor, language: Tensor) -> Tensor:
        added: Tensor = self.embedding(words) + language.unsqueeze(1)  # (N, W, C)
        return added.masked_fill(padding.unsqueeze(2), 0.0)  # (N, W, C)


class FilmLanguage(CharacterConvolution):
    """FiLM (Perez et al. 2018): (1 + gamma_l) y + beta_l for every filter's output y."""

    def __init__(
        self,
        vocabulary_size: int,
        character_width: int,
        filters: int,
        kernel: int,
        dropout: float,
        *,
        languages: int,
        language_dropout: float,
    ) -> None:
        super().__init__(vocabulary_size, character_width, filters, kernel, dropout)
        self.languages = LanguageVectors(languages, 2 * filters, language_dropout)

    def of_languages(self, languages: Tensor) -> Tensor:
        vectors: Tensor = self.languages(languages)  # (N, 2 F)
        return vectors

    def of_filters(self, filtered: Tensor, language: Tensor) -> Tensor:
        gamma, beta = language.to(filtered.dtype).unsqueeze(2).chunk(2, dim=1)  # (N, F, 1) each
        return torch.addcmul(filtered + beta, filtered, gamma)  # (N, F, W)
