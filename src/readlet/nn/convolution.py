"""Depthwise separable convolution over a padded sequence."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SeparableConvolution(nn.Module):
    """A filter per feature along the sequence, then a mix of the features, then ReLU.

    The sequence keeps its length. Values in the padding never reach a kept position: they are set
    to the same zeros with which the convolution pads either end of a sequence.
    """

    def __init__(self, width_in: int, width_out: int, kernel: int) -> None:
        super().__init__()
        if kernel % 2 == 0:
            raise ValueError(f"kernel must be odd to keep the length, not {kernel}")
        # No biases: each costs a reduction in the backward pass.
        self.depthwise = nn.Conv2d(
            width_in, width_in, (1, kernel), padding=(0, kernel // 2), groups=width_in, bias=False
        )
        self.pointwise = nn.Linear(width_in, width_out, bias=False)
        nn.init.kaiming_normal_(self.pointwise.weight, nonlinearity="relu")

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        """x (B, L, D), keep (B, L) -> (B, L, width_out); padded positions are undefined."""
        clean = torch.where(keep.unsqueeze(-1), x, 0.0)  # (B, L, D)
        return F.relu(self.pointwise(self._filter(clean)))  # (B, L, width_out)

    def _filter(self, x: Tensor) -> Tensor:
        """The depthwise part, (B, L, D) -> (B, L, D), without copying the features in memory."""
        if torch.compiler.is_compiling():
            # A sum of shifted copies: the compiler fuses it with the operations around it.
            kernel, length = self.depthwise.kernel_size[1], x.shape[1]
            weight = self.depthwise.weight.view(-1, kernel)  # (D, K)
            padded = F.pad(x, (0, 0, kernel // 2, kernel // 2))  # (B, L + K - 1, D)
            total = padded[:, :length] * weight[:, 0]  # (B, L, D)
            for k in range(1, kernel):
                total = total + padded[:, k : k + length] * weight[:, k]  # (B, L, D)
            return total
        # An image of height 1 in channels-last memory format: by far the fastest layout.
        image = x.transpose(1, 2).unsqueeze(2)  # (B, D, 1, L)
        filtered: Tensor = self.depthwise(image)  # (B, D, 1, L)
        return filtered.squeeze(2).transpose(1, 2)  # (B, L, D)
