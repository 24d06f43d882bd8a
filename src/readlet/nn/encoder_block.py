"""The encoder block of QANet (Yu et al. 2018): convolutions, self-attention, feed-forward."""

from itertools import pairwise

import torch
from torch import Tensor, nn

from readlet.nn.attention import SelfAttention
from readlet.nn.convolution import SeparableConvolution
from readlet.nn.position import PositionalEncoding
from readlet.nn.stochastic_depth import StochasticDepth, survival_at

# More than the longest context of the recipes, 400; the table grows for longer sequences.
POSITIONS = 512


def sublayer_count(convolutions: int) -> int:
    """Residual sublayers in one block: its convolutions, the attention and the feed-forward."""
    return convolutions + 2


class ConvolutionPair(nn.Module):
    """Two residual convolutions, x + depth(f(LayerNorm(x))); dropout after the second."""

    def __init__(
        self,
        *,
        width: int,
        kernel: int,
        dropout: float,
        input_dropout: float,
        survivals: list[float],
    ) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(
            SeparableConvolution(width, width, kernel) for _ in survivals
        )
        self.depths = nn.ModuleList(StochasticDepth(p) for p in survivals)
        self.norm = _norm(width, input_dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        """x (B, L, D), keep (B, L) -> (B, L, D)."""
        for i, (convolution, depth) in enumerate(zip(self.convolutions, self.depths, strict=True)):
            update = convolution(self.norm(x), keep)  # (B, L, D)
            # QANet applies dropout between every two layers, not after each convolution.
            x = depth(x, self.dropout(update) if i else update)  # (B, L, D)
        return x


class AttentionFeedForward(nn.Module):
    """Residual self-attention, then a residual feed-forward layer."""

    def __init__(
        self,
        *,
        width: int,
        heads: int,
        head_width: int,
        norm_gamma: float | None,
        feed_forward: int,
        dropout: float,
        input_dropout: float,
        survivals: list[float],
    ) -> None:
        super().__init__()
        self.attention = SelfAttention(width, heads, head_width, dropout, norm_gamma)
        self.feed_forward = nn.Sequential(
            nn.Linear(width, feed_forward, bias=False),
            nn.ReLU(),
            nn.Linear(feed_forward, width, bias=False),
        )
        self.depths = nn.ModuleList(StochasticDepth(p) for p in survivals)
        self.norm = _norm(width, input_dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        """x (B, L, D), keep (B, L) -> (B, L, D), zero at padded positions."""
        update = self.attention(self.norm(x), keep)  # (B, L, D)
        x = self.depths[0](x, self.dropout(update))  # (B, L, D)
        update = self.feed_forward(self.norm(x))  # (B, L, D)
        x = self.depths[1](x, self.dropout(update))  # (B, L, D)
        return x * keep.unsqueeze(-1)  # (B, L, D)


class EncoderBlock(nn.Module):
    """Positions are added, then pairs of convolutions, then attention and feed-forward.

    `first_sublayer` is the number of this block's first sublayer in the whole stack, counted from
    1, and `total_sublayers` the size of that stack: deeper updates are dropped more often, down to
    a survival probability of `last_survival` for the last one.
    """

    def __init__(
        self,
        *,
        width: int,
        convolutions: int,
        kernel: int,
        heads: int,
        head_width: int,
        feed_forward: int,
        dropout: float,
        input_dropout: float,
        norm_gamma: float | None = None,
        first_sublayer: int,
        total_sublayers: int,
        last_survival: float,
    ) -> None:
        super().__init__()
        survivals = [
            survival_at(first_sublayer + i, total_sublayers, last_survival)
            for i in range(sublayer_count(convolutions))
        ]
        self.position = PositionalEncoding(width, POSITIONS)
        self.pairs = nn.ModuleList(
            ConvolutionPair(
                width=width,
                kernel=kernel,
                dropout=dropout,
                input_dropout=input_dropout,
                survivals=survivals[first:last],
            )
            for first, last in pairwise([*range(0, convolutions, 2), convolutions])
        )
        self.rest = AttentionFeedForward(
            width=width,
            heads=heads,
            head_width=head_width,
            norm_gamma=norm_gamma,
            feed_forward=feed_forward,
            dropout=dropout,
            input_dropout=input_dropout,
            survivals=survivals[convolutions:],
        )
        self._is_compiled = False

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        """x (B, L, D), keep (B, L) -> (B, L, D), zero at padded positions."""
        x = self.position(x)  # (B, L, D)
        for part in (*self.pairs, self.rest):
            if self._is_compiled:  # dynamic in the length, static in the batch size
                torch._dynamo.maybe_mark_dynamic(x, 1)
                torch._dynamo.maybe_mark_dynamic(keep, 1)
            x = part(x, keep)  # (B, L, D)
        return x

    def compile_parts(self) -> None:
        """Compile in place, once for all lengths; parts of the same structure share one program.

        Two sublayers at a time: whole blocks took more than a minute to compile.
        """
        for part in (*self.pairs, self.rest):
            part.compile()
        self._is_compiled = True


def _norm(width: int, dropout: float) -> nn.Sequential:
    """LayerNorm and dropout. No scale and shift: the next layer has weights, and each is slow."""
    return nn.Sequential(nn.LayerNorm(width, elementwise_affine=False), nn.Dropout(dropout))
