"""Multi-head self-attention over the kept positions of a sequence."""

import torch.nn.functional as F
from torch import Tensor, nn

from readlet.nn.norm_attention import norm_attention


class SelfAttention(nn.Module):
    """Every kept position attends to every kept position; padded positions give zeros.

    The inner width is `heads * head_width` and need not equal `width`: the small reader of 96
    features uses 5 heads of 96 each. With `norm_gamma`, NormSoftmax replaces softmax.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        head_width: int,
        dropout: float,
        norm_gamma: float | None = None,
    ) -> None:
        super().__init__()
        self.norm_gamma = norm_gamma
        self.heads = heads
        self.head_width = head_width
        self.dropout = dropout
        inner = heads * head_width
        # One product for query, key and value: small networks are bound by kernel launches.
        # No bias: on the keys it would shift a whole row of scores, which softmax ignores.
        self.qkv = nn.Linear(width, 3 * inner, bias=False)
        self.output = nn.Linear(inner, width, bias=False)

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        """x (B, L, D), keep (B, L) -> (B, L, D)."""
        query, key, value = self.of_heads(x)  # 3 of (B, H, L, E)
        dropout = self.dropout if self.training else 0.0
        # An example that keeps nothing attends to everything. The result does not matter, since
        # it is zeroed below, but neither it nor its gradient may be NaN.
        safe = keep | ~keep.any(dim=1, keepdim=True)  # (B, L)
        if self.norm_gamma is not None:
            mixed = norm_attention(
                query, key, value, safe, gamma=self.norm_gamma, dropout=dropout
            )  # (B, H, L, E)
        else:
            mask = safe[:, None, None, :]  # (B, 1, 1, L)
            mixed = F.scaled_dot_product_attention(
                query, key, value, attn_mask=mask, dropout_p=dropout
            )  # (B, H, L, E)
        joined = mixed.transpose(1, 2).flatten(2)  # (B, L, H * E)
        projected: Tensor = self.output(joined)  # (B, L, D)
        return projected * keep.unsqueeze(-1)  # (B, L, D)

    def of_heads(self, x: Tensor) -> tuple[Tensor, ...]:
        """x (B, L, D) -> query, key and value, (B, H, L, E) each."""
        batch, length, _ = x.shape
        qkv = self.qkv(x).view(batch, length, 3, self.heads, self.head_width)  # (B, L, 3, H, E)
        parts: tuple[Tensor, ...] = qkv.permute(2, 0, 3, 1, 4).unbind(0)  # 3 of (B, H, L, E)
        return parts
