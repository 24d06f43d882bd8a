"""A vector for a word from its characters, with or without the word's language.

Signorelli and Sirocchi found that the character layer depends on the language, and proposed to give
it the language as an input. Both variants start as the layer without it: their terms are zero.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

PADDING = 0


class CharacterConvolution(nn.Module):
    """Embedding, convolution along the word, ReLU, and the maximum over the word's characters.

    The vector depends on the word alone, not on the width it was padded to. A caller with many
    repeated words may pass each distinct word once, (N, W), and gather the rows afterwards.
    """

    def __init__(
        self,
        vocabulary_size: int,
        character_width: int,
        filters: int,
        kernel: int,
        dropout: float,
    ) -> None:
        super().__init__()
        if kernel % 2 == 0:
            raise ValueError(f"kernel must be odd to keep the word's length, not {kernel}")
        # The padding row is zero and gets no gradient, so padding equals the zeros with which the
        # convolution pads the array.
        self.embedding = nn.Embedding(vocabulary_size, character_width, padding_idx=PADDING)
        self.convolution = nn.Conv2d(
            character_width, filters, (1, kernel), padding=(0, kernel // 2)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids: Tensor, languages: Tensor) -> Tensor:
        """ids (..., W), 0 is padding, languages (...) -> (..., filters).

        A word of only padding gives zeros. This class ignores the language.
        """
        words = ids.reshape(-1, ids.shape[-1])  # (N, W)
        padding = words == PADDING  # (N, W)
        language = self.of_languages(languages.reshape(-1))  # (N, ...)
        embedded = self.dropout(self.of_characters(words, padding, language))  # (N, W, C)
        # An image of height 1 in channels-last memory format: nothing is copied.
        image = embedded.transpose(1, 2).unsqueeze(2)  # (N, C, 1, W)
        filtered = self.convolution(image).squeeze(2)  # (N, F, W)
        found = F.relu(self.of_filters(filtered, language))  # (N, F, W)
        # After ReLU no value is below zero, so zeros in the padding never change the maximum.
        found = found.masked_fill(padding.unsqueeze(1), 0.0)  # (N, F, W)
        return found.max(dim=-1).values.view(*ids.shape[:-1], found.shape[1])  # (..., F)

    def of_languages(self, languages: Tensor) -> Tensor:
        """Languages (N,) -> what the layer has learned about them (N, ...)."""
        return languages

    def of_characters(self, words: Tensor, padding: Tensor, language: Tensor) -> Tensor:
        """Words (N, W) -> (N, W, C), zeros in the padding."""
        embedded: Tensor = self.embedding(words)  # (N, W, C)
        return embedded

    def of_filters(self, filtered: Tensor, language: Tensor) -> Tensor:
        """The filters' outputs (N, F, W), before ReLU -> (N, F, W)."""
        return filtered


class NoCharacters(nn.Module):
    """Replaces the convolution in a model that reads words only."""

    def forward(self, characters: Tensor, languages: Tensor) -> Tensor:
        """characters (U, W), languages (U,) -> (U, 0)."""
        return torch.zeros(characters.shape[0], 0, device=characters.device)  # (U, 0)


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
