"""The small reader in the operations that a graph runs fastest, with the same numbers.

Values in the padding are kept away from words only where they would reach them: before a
convolution and in attention. Elsewhere they may be anything finite. Factors of updates and of
queries are in the weights. What all blocks compute alike, masks and positions, is one operation
of the graph: onnxruntime finds it.
"""

from copy import deepcopy
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from readlet.models.qacnn import QACNN
from readlet.nn.attention import SelfAttention
from readlet.nn.characters import PADDING, CharacterConvolution
from readlet.nn.convolution import SeparableConvolution
from readlet.nn.encoder_block import EncoderBlock
from readlet.nn.language_characters import AddedLanguage
from readlet.nn.norm_attention import norm_attention
from readlet.nn.position import PositionalEncoding
from readlet.nn.softmax import MASKED
from readlet.nn.stochastic_depth import StochasticDepth


def plain_qacnn(network: QACNN) -> QACNN:
    """A copy of the network, with plain parts in the place of its own."""
    made = deepcopy(network).eval()
    characters = made.embedding.characters
    # A language that is added to every character would need a table of its own.
    if isinstance(characters, CharacterConvolution) and not isinstance(characters, AddedLanguage):
        made.embedding.characters = _CharacterTable(characters)  # type: ignore[assignment]
    position = network.encoder.position  # not a copy: its table may grow until the trace
    made.encoder = _PlainBlock(made.encoder, position)  # type: ignore[assignment]
    made.blocks = nn.ModuleList(_PlainBlock(block, position) for block in made.blocks)  # type: ignore[arg-type]
    return made


class _CharacterTable(nn.Module):
    """What each character adds to each filter, at each place of the kernel.

    The convolution is linear in the vectors of characters, so rows of a table are added up where
    it would multiply: it was a quarter of the reader's time.
    """

    table: Tensor
    bias: Tensor

    def __init__(self, layer: CharacterConvolution) -> None:
        super().__init__()
        self.layer = layer
        self.reach = layer.convolution.kernel_size[1] // 2
        weight = layer.convolution.weight.detach()[:, :, 0]  # (F, C, K)
        # In float64: to sum up in another order must not add errors.
        table = torch.einsum("vc,fck->kvf", layer.embedding.weight.double(), weight.double())
        table[:, PADDING] = 0.0
        self.register_buffer("table", table.float())  # (K, V, F)

    def forward(self, ids: Tensor, languages: Tensor) -> Tensor:
        """ids (U, W), languages (U,) -> (U, F), as the convolution that it replaces."""
        layer = self.layer
        width = ids.shape[1]
        around = F.pad(ids, (self.reach, self.reach), value=PADDING)  # (U, W + K - 1)
        total = self.table[0][around[:, :width]]  # (U, W, F)
        for k in range(1, len(self.table)):
            total = total + self.table[k][around[:, k : k + width]]  # (U, W, F)
        assert layer.convolution.bias is not None
        filtered = total + layer.convolution.bias  # (U, W, F)
        language = layer.of_languages(languages)  # (U, ...)
        filtered = layer.of_filters(filtered.transpose(1, 2), language)  # (U, F, W)
        # After ReLU no value is below zero, so zeros in the padding never change the maximum.
        kept = (ids != PADDING).unsqueeze(1)  # (U, 1, W)
        return (F.relu(filtered) * kept).amax(dim=-1)  # (U, F)


class _PlainBlock(nn.Module):
    """An encoder block."""

    def __init__(self, block: EncoderBlock, position: PositionalEncoding) -> None:
        super().__init__()
        self.position = position
        layers = [layer for pair in block.pairs for layer in pair.convolutions]  # type: ignore[union-attr]
        *factors, of_attention, of_feed_forward = _factors(block)
        self.convolutions = nn.ModuleList(map(_PlainConvolution, layers, factors))
        self.attention = _PlainAttention(block.rest.attention, of_attention)
        self.feed_forward, self.norm = block.rest.feed_forward, block.rest.norm
        last = self.feed_forward[-1]
        assert isinstance(last, nn.Linear)
        last.weight.data *= of_feed_forward

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        """x (B, L, D), keep (B, L) -> (B, L, D); padded positions are undefined."""
        x = x + self.position.table[: keep.shape[1]]  # (B, L, D)
        kept = keep.unsqueeze(-1).to(x.dtype)  # (B, L, 1)
        for convolution in self.convolutions:
            x = x + convolution(self.norm(x) * kept)  # (B, L, D)
        x = x + self.attention(self.norm(x), keep)  # (B, L, D)
        update: Tensor = self.feed_forward(self.norm(x))  # (B, L, D)
        return x + update


def _factors(block: EncoderBlock) -> list[Tensor]:
    """Of the updates, one for each sublayer."""
    depths = (part for part in block.modules() if isinstance(part, StochasticDepth))
    return [depth.survival for depth in depths]


class _PlainConvolution(nn.Module):
    """A separable convolution times a factor, which ReLU lets through."""

    def __init__(self, layer: SeparableConvolution, factor: Tensor) -> None:
        super().__init__()
        self.depthwise, self.pointwise = layer.depthwise, layer.pointwise
        self.pointwise.weight.data *= factor

    def forward(self, x: Tensor) -> Tensor:
        """x (B, L, D), zero in the padding -> (B, L, D)."""
        image = x.unsqueeze(1).permute(0, 3, 1, 2)  # (B, D, 1, L)
        filtered = self.depthwise(image).permute(0, 2, 3, 1).squeeze(1)  # (B, L, D)
        return F.relu(self.pointwise(filtered))  # (B, L, D)


class _PlainAttention(nn.Module):
    """Self-attention times a factor."""

    def __init__(self, layer: SelfAttention, factor: Tensor) -> None:
        super().__init__()
        self.layer, self.gamma = layer, layer.norm_gamma
        layer.output.weight.data *= factor
        if self.gamma is None:
            query, *_ = layer.qkv.weight.data.chunk(3)  # (H * E, D)
            query *= layer.head_width**-0.5

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        """x (B, L, D), keep (B, L) -> (B, L, D)."""
        layer = self.layer
        parts = layer.qkv(x).split(layer.heads * layer.head_width, dim=-1)  # 3 of (B, L, H * E)
        heads = (_in_parts(part, layer.heads) for part in parts)  # 3 of (B, L, H, E)
        query, key, value = (part.transpose(1, 2) for part in heads)  # 3 of (B, H, L, E)
        if self.gamma is not None:
            mixed = norm_attention(query, key, value, keep, gamma=self.gamma)  # (B, H, L, E)
        else:
            hidden = torch.where(keep, 0.0, MASKED)[:, None, None]  # (B, 1, 1, L)
            mixed = (query @ key.transpose(-1, -2) + hidden).softmax(dim=-1) @ value
        return layer.output(_joined(mixed.transpose(1, 2)))  # type: ignore[no-any-return]


class _Reshaped(torch.autograd.Function):
    """All but the first two dimensions in another shape.

    By a constant of the graph. What the tracer makes of a view are five operations that find out
    the first two dimensions, which cost more than they look: there are hundreds of them.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, *shape: int) -> Tensor:
        return x.reshape(*x.shape[:2], *shape)  # (B, L, ...)

    @staticmethod
    def symbolic(graph: Any, x: Any, *shape: int) -> Any:
        wanted = graph.op("Constant", value_t=torch.tensor([0, 0, *shape]))  # 0: as it is
        return graph.op("Reshape", x, wanted)


def _in_parts(x: Tensor, parts: int) -> Tensor:
    """(B, L, H * E) -> (B, L, H, E)."""
    found: Tensor = _Reshaped.apply(x, parts, -1)  # type: ignore[no-untyped-call]
    return found


def _joined(x: Tensor) -> Tensor:
    """(B, L, H, E) -> (B, L, H * E)."""
    found: Tensor = _Reshaped.apply(x, -1)  # type: ignore[no-untyped-call]
    return found
