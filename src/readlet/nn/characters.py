"""A vector for a word from its characters, with or without the word's language.

Signorelli and Sirocchi found that the character layer depends on the language, and proposed to give
it the language as an input: as a vector added to each character's, or as a scale and shift of each
filter. Both variants start as the layer without it: their terms are zero.
"""

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

PADDING = 0
UNKNOWN_LANGUAGE = 0


class CharacterConvolution(nn.Module):
    """Embedding, convolution along the word, ReLU, and the maximum over the word's characters.

    The vector depends on the word alone, not on the width it was padded to; the kernel is odd. A
    caller with many repeated words may pass each distinct word once, (N, W), and gather the rows.
    The language l of a word enters as x_c + v_l for every character (`added`), or as
    (1 + gamma_l) y + beta_l for every filter's output y (`film`, Perez et al. 2018).
    """

    def __init__(
        self,
        vocabulary_size: int,
        character_width: int,
        filters: int,
        kernel: int,
        dropout: float,
        *,
        language: Literal["none", "added", "film"] = "none",
        languages: int = 0,
        language_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        # The padding row is zero and gets no gradient, so padding equals the zeros with which the
        # convolution pads the array.
        self.embedding = nn.Embedding(vocabulary_size, character_width, padding_idx=PADDING)
        self.convolution = nn.Conv2d(
            character_width, filters, (1, kernel), padding=(0, kernel // 2)
        )
        self.dropout = nn.Dropout(dropout)
        self.language = language
        if language != "none":
            width = character_width if language == "added" else 2 * filters
            self.languages = LanguageVectors(languages, width, language_dropout)

    def forward(self, ids: Tensor, languages: Tensor) -> Tensor:
        """ids (..., W), 0 is padding, languages (...) -> (..., filters).

        A word of only padding gives zeros.
        """
        words = ids.reshape(-1, ids.shape[-1])  # (N, W)
        padding = words == PADDING  # (N, W)
        language = self.of_languages(languages.reshape(-1))  # (N, ...)
        embedded = self.embedding(words)  # (N, W, C)
        if self.language == "added":
            embedded = (embedded + language.unsqueeze(1)).masked_fill(padding.unsqueeze(2), 0.0)
        # An image of height 1 in channels-last memory format: nothing is copied.
        image = self.dropout(embedded).transpose(1, 2).unsqueeze(2)  # (N, C, 1, W)
        filtered = self.convolution(image).squeeze(2)  # (N, F, W)
        found = F.relu(self.of_filters(filtered, language))  # (N, F, W)
        # After ReLU no value is below zero, so zeros in the padding never change the maximum.
        found = found.masked_fill(padding.unsqueeze(1), 0.0)  # (N, F, W)
        return found.max(dim=-1).values.view(*ids.shape[:-1], found.shape[1])  # (..., F)

    def of_languages(self, languages: Tensor) -> Tensor:
        """Languages (N,) -> what the layer has learned about them (N, ...), if anything."""
        return languages if self.language == "none" else self.languages(languages)

    def of_filters(self, filtered: Tensor, language: Tensor) -> Tensor:
        """The filters' outputs (N, F, W), before ReLU -> (N, F, W)."""
        if self.language != "film":
            return filtered
        gamma, beta = language.to(filtered.dtype).unsqueeze(2).chunk(2, dim=1)  # (N, F, 1) each
        return torch.addcmul(filtered + beta, filtered, gamma)  # (N, F, W)


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


class NoCharacters(nn.Module):
    """Replaces the convolution in a model that reads words only."""

    def forward(self, characters: Tensor, languages: Tensor) -> Tensor:
        """characters (U, W), languages (U,) -> (U, 0)."""
        return torch.zeros(characters.shape[0], 0, device=characters.device)  # (U, 0)
