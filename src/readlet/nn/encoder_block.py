"""The encoder block of QANet (Yu et al. 2018): convolutions, self-attention, feed-forward."""

from torch import Tensor, nn

from readlet.nn.attention import SelfAttention
from readlet.nn.convolution import SeparableConvolution
from readlet.nn.position import PositionalEncoding
from readlet.nn.stochastic_depth import StochasticDepth, survival_at

# Above the longest context of the recipes, 400; longer sequences make the table grow.
POSITIONS = 512


def sublayer_count(convolutions: int) -> int:
    """Residual sublayers in one block: its convolutions, the attention and the feed-forward."""
    return convolutions + 2


class EncoderBlock(nn.Module):
    """Positions are added, then each sublayer: x + depth(dropout(f(LayerNorm(x)))).

    `first_sublayer` is the number of this block's first sublayer in the whole stack, counted from
    1, and `total_sublayers` the size of that stack: an update deep in the stack is left out more
    often, down to a survival of `last_survival` for the very last one.
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
        first_sublayer: int,
        total_sublayers: int,
        last_survival: float,
    ) -> None:
        super().__init__()
        count = sublayer_count(convolutions)
        self.position = PositionalEncoding(width, POSITIONS)
        self.convolutions = nn.ModuleList(
            SeparableConvolution(width, width, kernel) for _ in range(convolutions)
        )
        self.attention = SelfAttention(width, heads, head_width, dropout)
        # No biases: the LayerNorms have them, and each costs a reduction in the backward pass.
        self.feed_forward = nn.Sequential(
            nn.Linear(width, feed_forward, bias=False),
            nn.ReLU(),
            nn.Linear(feed_forward, width, bias=False),
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(count))
        self.depths = nn.ModuleList(
            StochasticDepth(survival_at(first_sublayer + i, total_sublayers, last_survival))
            for i in range(count)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        """x (B, L, D), keep (B, L) -> (B, L, D), zero at padded positions."""
        x = self.position(x)  # (B, L, D)
        for i, convolution in enumerate(self.convolutions):
            update = convolution(self.norms[i](x), keep)  # (B, L, D)
            if i % 2 == 1:  # QANet drops between every two layers, not after each convolution
                update = self.dropout(update)  # (B, L, D)
            x = self.depths[i](x, update)  # (B, L, D)
        update = self.attention(self.norms[-2](x), keep)  # (B, L, D)
        x = self.depths[-2](x, self.dropout(update))  # (B, L, D)
        update = self.feed_forward(self.norms[-1](x))  # (B, L, D)
        x = self.depths[-1](x, self.dropout(update))  # (B, L, D)
        return x.masked_fill(~keep.unsqueeze(-1), 0.0)  # (B, L, D)
