"""Depthwise separable convolution over a padded sequence."""

import torch.nn.functional as F
from torch import Tensor, nn


class SeparableConvolution(nn.Module):
    """A filter per feature along the sequence, then a mix of the features, then ReLU.

    The sequence keeps its length. What stands in the padding never reaches a kept position: it is
    set to the same zeros that the convolution sees beyond either end of an unpadded sequence.
    """

    def __init__(self, width_in: int, width_out: int, kernel: int) -> None:
        super().__init__()
        if kernel % 2 == 0:
            raise ValueError(f"kernel must be odd to keep the length, not {kernel}")
        # The pointwise bias is enough: one here would only be mixed into it.
        self.depthwise = nn.Conv1d(
            width_in, width_in, kernel, padding=kernel // 2, groups=width_in, bias=False
        )
        self.pointwise = nn.Linear(width_in, width_out)
        nn.init.kaiming_normal_(self.pointwise.weight, nonlinearity="relu")
        nn.init.zeros_(self.pointwise.bias)

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        """x (B, L, D), keep (B, L) -> (B, L, width_out); padded positions hold no meaning."""
        clean = x.masked_fill(~keep.unsqueeze(-1), 0.0)  # (B, L, D)
        filtered = self.depthwise(clean.transpose(1, 2)).transpose(1, 2)  # (B, L, D)
        return F.relu(self.pointwise(filtered))  # (B, L, width_out)
