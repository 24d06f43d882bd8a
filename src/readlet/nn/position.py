"""Sinusoidal position encoding (Vaswani et al. 2017), without parameters."""

import torch
from torch import Tensor, nn


def sinusoids(length: int, width: int) -> Tensor:
    """P[p, 2i] = sin(p / 10000^(2i / D)), P[p, 2i + 1] = cos of the same angle; (L, D) float32."""
    # Computed in float64: an angle of several hundred loses three digits in float32.
    position = torch.arange(length, dtype=torch.float64).unsqueeze(1)  # (L, 1)
    even = torch.arange(0, width, 2, dtype=torch.float64)  # (ceil(D / 2),)
    angle = position * 10000.0 ** (-even / width)  # (L, ceil(D / 2))
    table = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)  # (L, D or D + 1)
    return table[:, :width].to(torch.float32)  # (L, D)


class PositionalEncoding(nn.Module):
    """x + P. The table is derived, so it is not saved with the weights."""

    table: Tensor

    def __init__(self, width: int, max_length: int) -> None:
        super().__init__()
        self.register_buffer("table", sinusoids(max_length, width), persistent=False)  # (M, D)

    def forward(self, x: Tensor) -> Tensor:
        """x (B, L, D) -> (B, L, D), for any L."""
        length = x.shape[1]
        if length > self.table.shape[0]:
            self._grow(length)
        return x + self.table[:length].to(x.dtype)  # (B, L, D)

    # A table that grows at inference must remain usable in training.
    @torch.inference_mode(mode=False)
    def _grow(self, length: int) -> None:
        # Rare: `max_length` should cover all of training. Existing rows do not change.
        self.table = sinusoids(length, self.table.shape[1]).to(self.table)  # (length, D)
