"""Layer mixing (Silva, 2020): span scores from the states of all layers, not only of the last.

A span head scores every token as the start and as the end of the answer: q'T with q = S or E. Here
T is a mix of the states h_1..h_L that the layers have of this token, with S or E itself as the
query. The mixes, by name:

    last              T = h_L
    scalar            T = gamma sum w_i h_i, w and gamma learned, not normalised
    scalar-softmax    the same with softmax(w)
    dot               T = sum w_i h_i with w = softmax(q'h_i), for each token its own
    weighted          the same with w = softmax(q'W h_i)
    encoder           T = a transformer block whose query is q and whose keys and values are h_i

For all but the last one q'T is a weighted sum of the numbers q'h_i. So a span head never computes
the mix of states, only one number for each layer and token. A classifier pools T itself: its mix
has one side, with its own query where the weights depend on one.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import reduce

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from readlet.nn.pooling import BERT_DEVIATION

SIDES = 2  # of a span head: start and end


class LayerMix(nn.Module, ABC):
    """With two sides a span head: its own S and E, and its own mix for each. With one: a mix."""

    reads_all_layers = True
    weighs_by_query = True

    def __init__(self, width: int, layers: int, sides: int) -> None:
        super().__init__()
        self.layers = layers
        self.sides = sides
        if self.weighs_by_query or sides == SIDES:
            query = torch.randn(sides, width) * BERT_DEVIATION  # (2, H): S and E; or (1, H)
            self.query = nn.Parameter(query)

    def forward(self, states: Sequence[Tensor]) -> Tensor:
        """Span scores: the states, each (B, T, H), first layer first -> (B, T, 2)."""
        scores = per_layer(states, self.query)  # (B, T, N, 2)
        return (self.weights(states) * scores).sum(dim=2)  # (B, T, 2)

    def mixed(self, states: Sequence[Tensor]) -> Tensor:
        """T of a mix with one side: (B, T, H). The states are not stacked."""
        weights = self.weights(states)  # broadcasts to (B, T, N, 1)
        parts = (weights[..., layer, :] * state for layer, state in enumerate(states))
        return reduce(torch.add, parts)  # (B, T, H)

    @abstractmethod
    def weights(self, states: Sequence[Tensor]) -> Tensor:
        """How much each layer counts, for each side: broadcasts to (B, T, N, sides)."""

    def contributions(self, states: Sequence[Tensor]) -> Tensor | None:
        """What each layer adds to the scores: (B, T, N, 2). None: the scores are not a sum."""
        return self.weights(states) * per_layer(states, self.query)  # (B, T, N, 2)


def per_layer(states: Sequence[Tensor], vectors: Tensor) -> Tensor:
    """Products of every state with vectors (K, H): (B, T, N, K). The states are not stacked."""
    # float32: sums over layers and the loss need more digits than half precision has.
    return torch.stack([F.linear(state, vectors).float() for state in states], dim=2)


class LastLayer(LayerMix):
    """T = h_L, as in BERT."""

    reads_all_layers = False
    weighs_by_query = False

    def forward(self, states: Sequence[Tensor]) -> Tensor:
        return F.linear(states[-1], self.query).float()  # (B, T, 2)

    def mixed(self, states: Sequence[Tensor]) -> Tensor:
        return states[-1]  # (B, T, H)

    def weights(self, states: Sequence[Tensor]) -> Tensor:
        last = torch.zeros(self.layers, 1, device=states[-1].device)  # (N, 1)
        last[-1] = 1.0
        return last


class ScalarMix(LayerMix):
    """T = gamma sum w_i h_i: one weight for each layer, the same for all tokens (ELMo)."""

    weighs_by_query = False

    def __init__(self, width: int, layers: int, sides: int) -> None:
        super().__init__(width, layers, sides)
        # One dimension, like a bias: matrices decay towards zero in AdamW.
        self.layer_weight = nn.Parameter(self.initial().flatten())  # (N * sides,)
        self.gamma = nn.Parameter(torch.ones(sides))  # (sides,)

    def initial(self) -> Tensor:
        return torch.full((self.layers, self.sides), 1 / self.layers)  # (N, sides)

    def weights(self, states: Sequence[Tensor]) -> Tensor:
        return self.gamma * self.layer_weight.view(self.layers, self.sides)  # (N, sides)


class SoftmaxScalarMix(ScalarMix):
    """The same with weights that are positive and sum to gamma."""

    def initial(self) -> Tensor:
        return torch.zeros(self.layers, self.sides)  # (N, sides)

    def weights(self, states: Sequence[Tensor]) -> Tensor:
        of_layers = self.layer_weight.view(self.layers, self.sides)  # (N, sides)
        return self.gamma * of_layers.softmax(dim=0)  # (N, sides)


class DotMix(LayerMix):
    """w = softmax(q'h_i): every token attends to its own layers. No parameters of its own."""

    def forward(self, states: Sequence[Tensor]) -> Tensor:
        scores = per_layer(states, self.query)  # (B, T, N, 2)
        return (scores.softmax(dim=2) * scores).sum(dim=2)  # (B, T, 2)

    def weights(self, states: Sequence[Tensor]) -> Tensor:
        return per_layer(states, self.query).softmax(dim=2)  # (B, T, N, sides)


class WeightedMix(LayerMix):
    """w = softmax(q'W h_i). At first W is the identity: it starts as `dot`."""

    def __init__(self, width: int, layers: int, sides: int) -> None:
        super().__init__(width, layers, sides)
        self.matrix = nn.Parameter(torch.eye(width).repeat(sides, 1, 1))  # (sides, H, H)

    def weights(self, states: Sequence[Tensor]) -> Tensor:
        keys = torch.einsum("sh,shk->sk", self.query, self.matrix)  # (sides, H): W'q
        return per_layer(states, keys).softmax(dim=2)  # (B, T, N, sides)


class EncoderMix(LayerMix):
    """A transformer block over the layers of a token, one for each side."""

    def __init__(self, width: int, layers: int, sides: int) -> None:
        super().__init__(width, layers, sides)
        self._names = ("start", "end") if sides == SIDES else ("block",)
        for name in self._names:
            self.add_module(name, _LayerBlock(width))

    def forward(self, states: Sequence[Tensor]) -> Tensor:
        sides = [
            F.linear(block(query, states), query).float() for block, query in self._blocks()
        ]  # (B, T) each
        return torch.stack(sides, dim=-1)  # (B, T, 2)

    def mixed(self, states: Sequence[Tensor]) -> Tensor:
        ((block, query),) = self._blocks()
        out: Tensor = block(query, states)  # (B, T, H)
        return out

    def weights(self, states: Sequence[Tensor]) -> Tensor:
        """The mean over the heads."""
        sides = [
            block.attention(query, states).mean(dim=-1) for block, query in self._blocks()
        ]  # (B, T, N) each
        return torch.stack(sides, dim=-1)  # (B, T, N, sides)

    def _blocks(self) -> list[tuple["_LayerBlock", Tensor]]:
        """The block and the query of each side."""
        return [(getattr(self, name), q) for name, q in zip(self._names, self.query, strict=True)]

    def contributions(self, states: Sequence[Tensor]) -> None:
        """The block is not linear in the states."""


class _LayerBlock(nn.Module):
    """Attention of one query to the layers of every token, then a feed-forward layer; post-norm."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.heads = _heads(width)
        self.to_query = nn.Linear(width, width)
        self.to_key = nn.Linear(width, width, bias=False)  # a bias would shift all layers equally
        self.to_value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.feed_forward = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )
        self.last_norm = nn.LayerNorm(width)

    def attention(self, query: Tensor, states: Sequence[Tensor]) -> Tensor:
        """The weights of the layers: (B, T, N, heads)."""
        # All tokens share the query: q'K h = (K'q)'h, so no keys are computed.
        split = self.to_query(query).view(self.heads, -1)  # (heads, H / heads)
        matrix = self.to_key.weight.view(self.heads, -1, len(query))  # (heads, H / heads, H)
        keys = torch.einsum("nd,ndh->nh", split, matrix)  # (heads, H)
        scale = split.shape[1] ** -0.5
        weights: Tensor = (per_layer(states, keys) * scale).softmax(dim=2)  # (B, T, N, heads)
        return weights

    def forward(self, query: Tensor, states: Sequence[Tensor]) -> Tensor:
        """query (H,), states (B, T, H) each -> (B, T, H)."""
        weights = self.attention(query, states)  # (B, T, N, heads)
        mixed: Tensor | float = 0.0
        for layer, state in enumerate(states):
            value = self.to_value(state).unflatten(-1, (self.heads, -1))  # (B, T, heads, H / heads)
            mixed = mixed + weights[:, :, layer].unsqueeze(-1).to(value.dtype) * value
        assert isinstance(mixed, Tensor)
        x = self.norm(query + self.out(mixed.flatten(-2)))  # (B, T, H)
        out: Tensor = self.last_norm(x + self.feed_forward(x))  # (B, T, H)
        return out


def _heads(width: int) -> int:
    """As many heads of size 64 as fit; one where they do not."""
    return width // 64 if width % 64 == 0 else 1


_MIXES: dict[str, Callable[[int, int, int], LayerMix]] = {
    "last": LastLayer,
    "scalar": ScalarMix,
    "scalar-softmax": SoftmaxScalarMix,
    "dot": DotMix,
    "weighted": WeightedMix,
    "encoder": EncoderMix,
}


def compares_layers(name: str, sides: int = SIDES) -> bool:
    """Whether a mix has parameters that only compare layers: with one layer, without a gradient."""
    return name in ("scalar-softmax", "weighted", "encoder") or (name == "dot" and sides == 1)


def make_layer_mix(name: str, width: int, layers: int, sides: int = SIDES) -> LayerMix:
    """A span head by the name of its mix; with one side, a mix of states for a classifier."""
    return _MIXES[name](width, layers, sides)
