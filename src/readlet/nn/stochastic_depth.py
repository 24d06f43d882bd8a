"""Stochastic depth (Huang et al. 2016): residual updates are dropped at random."""

import torch
from torch import Tensor, nn


def survival_at(sublayer: int, total: int, last: float) -> float:
    """p_l = 1 - (l / L) (1 - p_L): deeper updates are dropped more often.

    `sublayer` l counts from 1, so that the last of `total` survives with exactly `last`.
    """
    if not 1 <= sublayer <= total:
        raise ValueError(f"sublayer {sublayer} is not among the sublayers 1 to {total}")
    return 1.0 - sublayer / total * (1.0 - last)


class StochasticDepth(nn.Module):
    """residual + b * update, with b ~ Bernoulli(survival) for each example and each call.

    As in the paper, updates are not rescaled in training; evaluation uses the expectation of b.
    """

    survival: Tensor

    def __init__(self, survival: float) -> None:
        super().__init__()
        if not 0.0 < survival <= 1.0:
            raise ValueError(f"survival must be above 0 and at most 1, not {survival}")
        # A buffer, not a number: blocks that differ only in it share one compiled program.
        self.register_buffer("survival", torch.tensor(survival), persistent=False)  # ()

    def forward(self, residual: Tensor, update: Tensor) -> Tensor:
        """residual (B, L, D), update (B, L, D) -> (B, L, D)."""
        if not self.training:
            # Fused: one pass over memory, not two.
            return torch.addcmul(residual, update, self.survival)  # (B, L, D)
        # Drawn and applied by tensor operations only: a captured CUDA graph then draws new numbers
        # at every replay, where a Python `if` would repeat its first outcome.
        draw = torch.rand(update.shape[0], 1, 1, device=update.device)  # (B, 1, 1), in [0, 1)
        return residual + update.masked_fill(draw >= self.survival, 0.0)  # (B, L, D)
