"""Networks rewritten in the operations that onnxruntime runs fastest, with the same results.

Small reader: values in the padding are masked only where they would affect
words, before a convolution and in attention. Elsewhere they may be anything finite. Factors of
updates and of queries are folded into the weights. Masks and positions, the same for all blocks,
are shared: onnxruntime eliminates the common subexpressions.

Encoders of transformers: torch's attention checks all weights for NaN, because of queries without
keys, and makes a mask of pairs of tokens. Here only keys are masked, and numbers are finite.

Operations that the tracer does not know, or decomposes into many, have an equivalent in torch at
the end; `modernise` converts a traced model to a version of ONNX that has them.
"""

from copy import deepcopy
from functools import reduce
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from readlet.models.pretrained.encoder import KNOWN_KINDS, PretrainedEncoder
from readlet.models.qacnn.network import QACNN
from readlet.nn.characters import PADDING, CharacterConvolution
from readlet.nn.normsoftmax import norm_attention
from readlet.nn.qanet import (
    ContextQueryAttention,
    EncoderBlock,
    PositionalEncoding,
    SelfAttention,
    SeparableConvolution,
    StochasticDepth,
)
from readlet.nn.softmax import MASKED, masked_softmax

# Sums of more of them, for the words of a batch, do not fit into the caches.
_CHARACTERS_AT_ONCE = 8
_NAME = "plain"
# Attention has lengths since version 24. onnxruntime 1.24 ignores them, but rejects this version.
_OPSET = 26
_DRAFT = "readlet"  # the domain of operations that are too new for the tracer


def plain_qacnn(network: QACNN) -> QACNN:
    """A copy of the network with plain modules."""
    made = deepcopy(network).eval()
    characters = made.embedding.characters
    # A language vector that is added to every character would need a separate table.
    if isinstance(characters, CharacterConvolution) and characters.language != "added":
        made.embedding.characters = _CharacterTable(characters)  # type: ignore[assignment]
    position = network.encoder.position  # not a copy: its table may grow until the trace
    made.encoder = _PlainBlock(made.encoder, position)  # type: ignore[assignment]
    made.blocks = nn.ModuleList(_PlainBlock(block, position) for block in made.blocks)  # type: ignore[arg-type]
    made.attention = _PlainContextQuery(made.attention)  # type: ignore[assignment]
    return made


class _CharacterTable(nn.Module):
    """The contribution of each character to each filter, at each position of the kernel.

    The convolution is linear in the vectors of characters, so rows of a table are added up where
    it would multiply, which took a quarter of the reader's time.
    """

    table: Tensor

    def __init__(self, layer: CharacterConvolution) -> None:
        super().__init__()
        self.layer = layer
        self.reach = layer.convolution.kernel_size[1] // 2
        weight = layer.convolution.weight.detach()[:, :, 0]  # (F, C, K)
        # In float64: to sum up in another order must not add errors.
        table = torch.einsum("vc,fck->kvf", layer.embedding.weight.double(), weight.double())
        assert layer.convolution.bias is not None
        table[self.reach] += layer.convolution.bias.detach()
        table[:, PADDING] = 0.0
        table[self.reach, PADDING] = MASKED  # the maximum is never beyond the word
        self.register_buffer("table", table.float())  # (K, V, F)

    def forward(self, ids: Tensor, languages: Tensor) -> Tensor:
        """ids (U, W), languages (U,) -> (U, F), as the convolution that it replaces."""
        language = self.layer.of_languages(languages)  # (U, ...)
        around = F.pad(ids, (self.reach, self.reach), value=PADDING)  # (U, W + K - 1)
        width = int(ids.shape[1])  # the same for all texts
        best: list[Tensor] = []  # of (U, F)
        for first in range(0, width, _CHARACTERS_AT_ONCE):
            last = min(first + _CHARACTERS_AT_ONCE, width)
            total = self.table[0][around[:, first:last]]  # (U, w, F)
            for k in range(1, len(self.table)):
                total = total + self.table[k][around[:, first + k : last + k]]  # (U, w, F)
            best.append(self._highest(total, ids[:, first:last], language))
        return F.relu(reduce(torch.maximum, best))  # (U, F)

    def _highest(self, total: Tensor, ids: Tensor, language: Tensor) -> Tensor:
        """Of the filters (U, w, F): (U, F)."""
        if self.layer.language != "film":
            return total.amax(dim=1)  # (U, F)
        # A language may flip the sign of a filter: its maximum is then elsewhere.
        filtered = self.layer.of_filters(total.transpose(1, 2), language)  # (U, F, w)
        return (F.relu(filtered) * (ids != PADDING).unsqueeze(1)).amax(dim=-1)  # (U, F)


class _PlainBlock(nn.Module):
    """An encoder block."""

    def __init__(self, block: EncoderBlock, position: PositionalEncoding) -> None:
        super().__init__()
        self.position, self.width = position, position.table.shape[1]
        layers = [layer for pair in block.pairs for layer in pair.convolutions]  # type: ignore[union-attr]
        *factors, of_attention, of_feed_forward = _factors(block)
        self.convolutions = nn.ModuleList(map(_PlainConvolution, layers, factors))
        self.attention = _PlainAttention(block.rest.attention, of_attention)
        self.feed_forward, self.norm = block.rest.feed_forward, block.rest.norm
        norm = self.norm[0]
        assert isinstance(norm, nn.LayerNorm)
        self.epsilon = norm.eps
        last = self.feed_forward[-1]
        assert isinstance(last, nn.Linear)
        last.weight.data *= of_feed_forward

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        """x (B, L, D), keep (B, L) -> (B, L, D); padded positions are undefined."""
        batch, length = keep.shape
        kept = keep.flatten().to(x.dtype)  # (B * L,)
        x = (x + self.position.table[:length]).unsqueeze(1)  # (B, 1, L, D)
        for convolution in self.convolutions:
            words = normed(reshaped(x, 1, -1, self.width), kept, self.epsilon)  # (1, B * L, D)
            x = x + convolution(words.view(batch, 1, length, self.width))  # (B, 1, L, D)
        x = x.squeeze(1)  # (B, L, D)
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
        """x (B, 1, L, D), zero in the padding -> (B, 1, L, D)."""
        filtered = self.depthwise(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)  # (B, 1, L, D)
        return F.relu(self.pointwise(filtered))  # (B, 1, L, D)


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
        # Three products: splitting the result of a single one takes longer.
        query, key, value = (F.linear(x, w) for w in layer.qkv.weight.chunk(3))  # (B, L, H * E)
        if self.gamma is None:
            mixed = attended(query, key, value, _lengths(keep), layer.heads)  # (B, L, H * E)
        else:
            parts = (reshaped(x, 0, 0, layer.heads, -1) for x in (query, key, value))
            query, key, value = (part.transpose(1, 2) for part in parts)  # 3 of (B, H, L, E)
            mixed = norm_attention(query, key, value, keep, gamma=self.gamma)  # (B, H, L, E)
            mixed = reshaped(mixed.transpose(1, 2), 0, 0, -1)  # (B, L, H * E)
        return layer.output(mixed)  # type: ignore[no-any-return]


class _PlainContextQuery(nn.Module):
    """Context-query attention as two attentions, with the symbols of the layer that it replaces.

    Softmax over the question ignores what a context word adds to all its scores, and softmax over
    the context what a question word adds. So S1 and S2 leave out one part of S each.
    """

    def __init__(self, layer: ContextQueryAttention) -> None:
        super().__init__()
        self.layer = layer

    def forward(
        self, context: Tensor, question: Tensor, context_keep: Tensor, question_keep: Tensor
    ) -> Tensor:
        """(B, Lc, D), (B, Lq, D), (B, Lc), (B, Lq) -> (B, Lc, 4 D); padding is undefined."""
        layer = self.layer
        query = question * layer.product_weight + layer.context_weight  # (B, Lq, D)
        read = attended(query, context, context, _lengths(context_keep))  # S2' C (B, Lq, D)
        values = torch.cat([question, read], dim=-1)  # (B, Lq, 2 D)
        values = values * question_keep.unsqueeze(-1)  # zeros of a question without words
        query = context * layer.product_weight + layer.question_weight  # (B, Lc, D)
        both = attended(query, question, values, _lengths(question_keep))  # (B, Lc, 2 D)
        a, b = both.chunk(2, dim=-1)  # S1 Q, S1 S2' C: 2 of (B, Lc, D)
        return torch.cat([context, a, context * a, context * b], dim=-1)  # (B, Lc, 4 D)


def _lengths(keep: Tensor) -> Tensor:
    """Of rows with their padding at the end; nothing kept counts as one: no softmax is NaN."""
    return keep.sum(dim=1).clamp(min=1)  # (B,)


def with_plain_attention(network: nn.Module) -> nn.Module:
    """A copy whose encoder attends in plain operations, if it is of a kind known to allow it."""
    made = deepcopy(network)
    for part in made.modules():
        if not isinstance(part, PretrainedEncoder):
            continue
        config = part.network.config
        if config.model_type in KNOWN_KINDS and config._attn_implementation == "sdpa":
            part.network.set_attn_implementation(_registered())
    return made


def _registered() -> str:
    from transformers import AttentionInterface, AttentionMaskInterface

    AttentionInterface.register(_NAME, _attend)
    AttentionMaskInterface.register(_NAME, _mask)
    return _NAME


def _attend(
    module: nn.Module,
    query: Tensor,  # (B, H, L, E)
    key: Tensor,  # (B, H, L, E)
    value: Tensor,  # (B, H, L, E)
    attention_mask: Tensor,  # (B, 1, 1, L), added to the scores
    scaling: float | None = None,
    **more: Any,
) -> tuple[Tensor, None]:
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    scores = query @ key.transpose(-1, -2) * scaling + attention_mask  # (B, H, L, L)
    mixed = scores.softmax(dim=-1) @ value  # (B, H, L, E)
    return mixed.transpose(1, 2), None  # (B, L, H, E)


def _mask(*, attention_mask: Tensor, **named: Any) -> Tensor:
    """Padding as numbers to be added to scores: (B, L) -> (B, 1, 1, L)."""
    return torch.where(attention_mask.bool(), 0.0, MASKED)[:, None, None]  # (B, 1, 1, L)


def attended(query: Tensor, key: Tensor, value: Tensor, lengths: Tensor, heads: int = 1) -> Tensor:
    """Attention to the first positions of each row; queries are already scaled.

    (B, Lq, H * E), (B, L, H * E), (B, L, H * V), lengths (B,) of at least 1 -> (B, Lq, H * V).
    """
    found: Tensor = _Attended.apply(query, key, value, lengths, heads)  # type: ignore[no-untyped-call]
    return found


def normed(x: Tensor, factor: Tensor, epsilon: float) -> Tensor:
    """LayerNorm of x (1, N, D) times factor (N,), in one operation. It never uses two cores."""
    found: Tensor = _Normed.apply(x, factor, epsilon)  # type: ignore[no-untyped-call]
    return found


def reshaped(x: Tensor, *shape: int) -> Tensor:
    """Reshape to a constant shape of the ONNX model; a dimension of 0 is kept.

    The tracer turns a view into five operations that compute such dimensions. They cost
    more than they seem to: there are hundreds of them.
    """
    found: Tensor = _Reshaped.apply(x, *shape)  # type: ignore[no-untyped-call]
    return found


class _Attended(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, lengths: Tensor, heads: int
    ) -> Tensor:
        def of_heads(x: Tensor) -> Tensor:
            return x.view(*x.shape[:2], heads, -1).transpose(1, 2)  # (B, H, L, E)

        keep = torch.arange(key.shape[1]) < lengths.unsqueeze(1)  # (B, L)
        scores = of_heads(query) @ of_heads(key).transpose(-1, -2)  # (B, H, Lq, L)
        weights = masked_softmax(scores, keep[:, None, None])  # (B, H, Lq, L)
        mixed = weights @ of_heads(value)  # (B, H, Lq, V)
        return mixed.transpose(1, 2).flatten(2)  # (B, Lq, H * V)

    @staticmethod
    def symbolic(graph: Any, query: Any, key: Any, value: Any, lengths: Any, heads: int) -> Any:
        given = {"q_num_heads_i": heads, "kv_num_heads_i": heads, "scale_f": 1.0}
        made = graph.op(f"{_DRAFT}::Attention", query, key, value, lengths, **given)
        made.setType(query.type().with_sizes([None, None, None]))
        return made


class _Normed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: Tensor, epsilon: float) -> Tensor:
        return F.layer_norm(x, x.shape[-1:], eps=epsilon) * factor.unsqueeze(-1)  # (1, N, D)

    @staticmethod
    def symbolic(graph: Any, x: Any, factor: Any, epsilon: float) -> Any:
        zeros = graph.op("Sub", factor, factor)  # (N,)
        # Words are its channels, so the factor may have one number for each of them.
        return graph.op("InstanceNormalization", x, factor, zeros, epsilon_f=epsilon)


class _Reshaped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, *shape: int) -> Tensor:
        return x.reshape([wanted or x.shape[i] for i, wanted in enumerate(shape)])

    @staticmethod
    def symbolic(graph: Any, x: Any, *shape: int) -> Any:
        return graph.op("Reshape", x, graph.op("Constant", value_t=torch.tensor(shape)))


def modernise(path: Path) -> None:
    """Convert a traced model in place, if it has operations that need it."""
    import onnx
    from onnx.version_converter import convert_version

    model = onnx.load(path)
    if all(node.domain != _DRAFT for node in model.graph.node):
        return
    model = convert_version(model, _OPSET)
    for node in model.graph.node:
        if node.domain == _DRAFT:
            *given, lengths = node.input
            node.input[:] = [*given, "", "", "", lengths]  # no mask, no past keys and values
            node.domain = ""
    kept = [opset for opset in model.opset_import if opset.domain != _DRAFT]
    del model.opset_import[:]
    model.opset_import.extend(kept)
    onnx.save(model, path)
