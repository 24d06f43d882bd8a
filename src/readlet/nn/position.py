"""Sinusoidal positions (Vaswani et al. 2017): where a token stands, without parameters."""

import torch
from torch import Tensor, nn


def sinusoids(length: int, width: int) -> Tensor:
    """P[p, 2i] = sin(p / 10000^(2i / D)), P[p, 2i + 1] = cos of the same angle; (L, D) float32."""
    # float64 inside: an angle of several hundred in float32 has already lost three digits.
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

    # A table that grows while answering must remain fit for training afterwards.
    @torch.inference_mode(mode=False)
    def _grow(self, length: int) -> None:
        # Rare: `max_length` is meant to cover all of training. Rows already there do not change.
        self.table = sinusoids(length, self.table.shape[1]).to(self.table)  # (length, D)
