"""The building blocks of QANet (Yu et al. 2018), each over padded sequences with a mask.

Positions, depthwise separable convolutions, self-attention, highway layers, stochastic depth, the
encoder block made of them, and context-query attention.
"""

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from readlet.nn.normsoftmax import norm_attention
from readlet.nn.softmax import masked_softmax


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


class SeparableConvolution(nn.Module):
    """A filter per feature along the sequence, then a mix of the features, then ReLU.

    The sequence keeps its length, so the kernel is odd. Values in the padding never reach a kept
    position: they are set to the same zeros with which the convolution pads either end.
    """

    def __init__(self, width_in: int, width_out: int, kernel: int) -> None:
        super().__init__()
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


def survival_at(sublayer: int, total: int, last: float) -> float:
    """p_l = 1 - (l / L) (1 - p_L): deeper updates are dropped more often.

    `sublayer` l counts from 1, so that the last of `total` survives with exactly `last`.
    """
    return 1.0 - sublayer / total * (1.0 - last)


class StochasticDepth(nn.Module):
    """residual + b * update, with b ~ Bernoulli(survival) for each example and each call.

    As in the paper, updates are not rescaled in training; evaluation uses the expectation of b.
    """

    survival: Tensor

    def __init__(self, survival: float) -> None:
        super().__init__()
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


# sigmoid(-1) = 0.27: a new layer mostly passes its input on, so a deep stack starts near identity.
CARRY_BIAS = -1.0


class Highway(nn.Module):
    """y = g * relu(W x + b) + (1 - g) * x, with the gate g = sigmoid(V x + c), `layers` times."""

    def __init__(self, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(layers):
            # Transform and gate have the same input, so one product computes both: the first half
            # of its outputs is the transform, the second half the gate.
            layer = nn.Linear(width, 2 * width)
            nn.init.constant_(layer.bias[width:], CARRY_BIAS)
            self.layers.append(layer)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """x (..., D) -> (..., D); positions are independent, so no mask is needed."""
        for layer in self.layers:
            transform, gate = layer(x).chunk(2, dim=-1)  # 2 of (..., D)
            transform = self.dropout(F.relu(transform))  # (..., D)
            x = x + gate.sigmoid() * (transform - x)  # (..., D), = g t + (1 - g) x
        return x


class ContextQueryAttention(nn.Module):
    """Question-aware vectors of the context words: [c; a; c * a; c * b].

    S = w . [c; q; c * q] scores every pair of words. S1 is its softmax over the question, S2 over
    the context; A = S1 Q and B = S1 S2' C. Dropout applies to the inputs of S, not to C and Q.
    """

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        # The three parts of w. No bias: it would be added to every score, which softmax ignores.
        self.context_weight = nn.Parameter(torch.empty(width))  # (D,)
        self.question_weight = nn.Parameter(torch.empty(width))  # (D,)
        self.product_weight = nn.Parameter(torch.empty(width))  # (D,)
        self.dropout = nn.Dropout(dropout)
        # Initially S is the scaled dot product: a word attends to similar words. Random signs
        # would hide that similarity, and training might never find it.
        nn.init.constant_(self.product_weight, width**-0.5)
        nn.init.normal_(self.context_weight, std=0.01)
        nn.init.normal_(self.question_weight, std=0.01)

    def forward(
        self, context: Tensor, question: Tensor, context_keep: Tensor, question_keep: Tensor
    ) -> Tensor:
        """(B, Lc, D), (B, Lq, D), (B, Lc), (B, Lq) -> (B, Lc, 4 D).

        At padded context words a and b are zero, so zeros in the context stay zeros.
        """
        scores = self.similarity(self.dropout(context), self.dropout(question))  # (B, Lc, Lq)
        keep = context_keep.unsqueeze(2) & question_keep.unsqueeze(1)  # (B, Lc, Lq)
        over_question = masked_softmax(scores, keep, dim=2)  # S1 (B, Lc, Lq)
        over_context = masked_softmax(scores, keep, dim=1)  # S2 (B, Lc, Lq)
        a = over_question @ question  # (B, Lc, D)
        # S1 (S2' C), not (S1 S2') C: the (B, Lc, Lc) matrix is never materialised.
        b = over_question @ (over_context.transpose(1, 2) @ context)  # (B, Lc, D)
        return torch.cat([context, a, context * a, context * b], dim=-1)  # (B, Lc, 4 D)

    def similarity(self, context: Tensor, question: Tensor) -> Tensor:
        """S, part by part: the (B, Lc, Lq, 3 D) array of all pairs is never materialised."""
        from_context = (context @ self.context_weight).unsqueeze(2)  # (B, Lc, 1)
        from_question = (question @ self.question_weight).unsqueeze(1)  # (B, 1, Lq)
        pairs = (context * self.product_weight) @ question.transpose(1, 2)  # (B, Lc, Lq)
        return pairs + from_context + from_question  # (B, Lc, Lq)
