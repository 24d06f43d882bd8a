"""Stochastic depth (Huang et al. 2016): now and then a residual update is left out."""

import torch
from torch import Tensor, nn


def survival_at(sublayer: int, total: int, last: float) -> float:
    """p_l = 1 - (l / L) (1 - p_L): deeper updates are left out more often.

    `sublayer` l counts from 1, so that the last of `total` survives with exactly `last`.
    """
    if not 1 <= sublayer <= total:
        raise ValueError(f"sublayer {sublayer} is not among the sublayers 1 to {total}")
    return 1.0 - sublayer / total * (1.0 - last)


class StochasticDepth(nn.Module):
    """residual + b * update, with b ~ Bernoulli(survival) for each example and each call.

    As in the paper nothing is rescaled during training; evaluation uses the expectation of b.
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
            # One pass over memory, not two.
            return torch.addcmul(residual, update, self.survival)  # (B, L, D)
        # Drawn and applied by tensor operations alone: a captured CUDA graph replays the draw
        # with fresh numbers, where a Python `if` would freeze its first outcome for the run.
        draw = torch.rand(update.shape[0], 1, 1, device=update.device)  # (B, 1, 1), in [0, 1)
        return residual + update.masked_fill(draw >= self.survival, 0.0)  # (B, L, D)
