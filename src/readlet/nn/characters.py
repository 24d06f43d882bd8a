"""A vector for a word from its characters."""

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

    def forward(self, ids: Tensor) -> Tensor:
        """ids (..., W), 0 is padding -> (..., filters); a word of only padding gives zeros."""
        words = ids.reshape(-1, ids.shape[-1])  # (N, W)
        embedded = self.dropout(self.embedding(words))  # (N, W, C)
        # An image of height 1 in channels-last memory format: nothing is copied.
        image = embedded.transpose(1, 2).unsqueeze(2)  # (N, C, 1, W)
        found = F.relu(self.convolution(image)).squeeze(2)  # (N, F, W)
        # After ReLU no value is below zero, so zeros in the padding never change the maximum.
        found = found.masked_fill((words == PADDING).unsqueeze(1), 0.0)  # (N, F, W)
        return found.max(dim=-1).values.view(*ids.shape[:-1], found.shape[1])  # (..., F)


class NoCharacters(nn.Module):
    """Replaces the convolution in a model that reads words only."""

    def forward(self, characters: Tensor) -> Tensor:
        """characters (U, W) -> (U, 0)."""
        return torch.zeros(characters.shape[0], 0, device=characters.device)  # (U, 0)
