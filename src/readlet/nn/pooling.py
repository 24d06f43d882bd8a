"""Poolers: one vector for a sentence from the states of its tokens (Ha, Oh, Choi and Choi, 2021).

By name; x_i are the states of the tokens, x_0 that of the first one, CLS:

    cls                        tanh(W x_0), as in BERT
    meanmax                    tanh(W [sum x_i ; the x_i with the largest L2 norm])
    meanmax-mean               the same with the mean instead of the sum
    meanmax-elementwise        the same with the largest number of each feature
    meanmax-mean-elementwise   both
    mswap                      relu(w x_0), w = softmax inside each pair of neighbouring features
    swap                       mean over windows of 4 tokens of sum w_i x_i, w = softmax inside each
                               window, for each feature its own
    stochastic                 a = relu(x), p_i = a_i / sum a; training draws one token from p for
                               each feature, evaluation takes sum p_i a_i
    mean, max                  over the tokens
    attention                  sum w_i x_i with w = softmax(q'x_i), q learned

Padding never enters, whatever its values are. A row without tokens gives zeros. The results are at
least float32: sums over tokens overflow in float16.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from readlet.errors import ReadletError
from readlet.nn.softmax import check_keep, masked_softmax

BERT_DEVIATION = 0.02
"""The standard deviation with which BERT's parameters are drawn."""
_WINDOW = 4  # tokens in a window of `swap`: as many numbers as a 2 x 2 window of an image has


class Pooler(nn.Module, ABC):
    """Cleans its input; subclasses pool states whose padding is zero."""

    def __init__(self, out_width: int) -> None:
        super().__init__()
        self.out_width = out_width

    def forward(self, states: Tensor, keep: Tensor) -> Tensor:
        """states (B, T, H), keep (B, T) boolean -> (B, out_width), at least float32."""
        check_keep(keep.unsqueeze(-1), states)
        with torch.autocast(states.device.type, enabled=False):
            precise = states.to(torch.promote_types(states.dtype, torch.float32))  # (B, T, H)
            clean = torch.where(keep.unsqueeze(-1), precise, 0.0)  # (B, T, H)
            filled = keep.any(dim=1, keepdim=True)  # (B, 1)
            # A row without tokens is pooled as one of zeros: nothing is divided by zero or is
            # infinite. Its result is replaced at the end, since W x may have a bias.
            pooled = self.pool(clean, keep | ~filled)  # (B, out_width)
            return torch.where(filled, pooled, 0.0)  # (B, out_width)

    @abstractmethod
    def pool(self, states: Tensor, keep: Tensor) -> Tensor:
        """The same for states in float32 with zeros at padding, and at least one token a row."""


class ClsPooler(Pooler):
    """`dense` has the name and the shapes of the one in BERT's pooler, to take its weights."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.dense = _dense(width, width)

    def pool(self, states: Tensor, keep: Tensor) -> Tensor:
        return _project(self.dense, _first(states, keep)).tanh()  # (B, H)


class MeanMaxPooler(Pooler):
    """The paper's name says mean and its formula sum; its largest token is that of largest norm."""

    def __init__(self, width: int, *, mean: bool, elementwise: bool) -> None:
        super().__init__(width)
        self.mean = mean
        self.elementwise = elementwise
        self.dense = _dense(2 * width, width)

    def pool(self, states: Tensor, keep: Tensor) -> Tensor:
        total = _mean(states, keep) if self.mean else states.sum(dim=1)  # (B, H)
        largest = _max(states, keep) if self.elementwise else _longest(states)  # (B, H)
        return _project(self.dense, torch.cat([total, largest], dim=-1)).tanh()  # (B, H)


class MSwapPooler(Pooler):
    def __init__(self, width: int) -> None:
        super().__init__(width)
        if width % 2:
            fault = f"pooler mswap: the encoder's width, {width}, is odd and has no pairs"
            raise ReadletError(f"{fault}; choose another pooler")

    def pool(self, states: Tensor, keep: Tensor) -> Tensor:
        pairs = _first(states, keep).view(states.shape[0], -1, 2)  # (B, H / 2, 2)
        return (pairs.softmax(dim=-1) * pairs).relu().flatten(1)  # (B, H)


class SwapPooler(Pooler):
    def pool(self, states: Tensor, keep: Tensor) -> Tensor:
        # Windows are counted from the first token, so tokens come before padding.
        rows, length, width = states.shape
        place = torch.arange(length, device=keep.device)  # (T,)
        order = torch.where(keep, place, place + length).argsort(dim=1)  # (B, T)
        tokens = states.gather(1, order.unsqueeze(-1).expand_as(states))  # (B, T, H)
        missing = -length % _WINDOW
        filled = F.pad(keep.gather(1, order), (0, missing))  # (B, W * 4)
        inside = filled.view(rows, -1, _WINDOW)  # (B, W, 4)
        windows = F.pad(tokens, (0, 0, 0, missing)).view(rows, -1, _WINDOW, width)  # (B, W, 4, H)
        weights = masked_softmax(windows, inside.unsqueeze(-1), dim=2)  # (B, W, 4, H)
        return _mean((weights * windows).sum(dim=2), inside.any(dim=2))  # (B, H)


class StochasticPooler(Pooler):
    """Stochastic pooling (Zeiler and Fergus 2013). States have signs, so a ReLU comes first."""

    def pool(self, states: Tensor, keep: Tensor) -> Tensor:
        active = states.relu()  # (B, T, H)
        if self.training:
            return self._drawn(active)  # (B, H)
        total = active.sum(dim=1, keepdim=True)  # (B, 1, H)
        share = active / total.clamp(min=torch.finfo(total.dtype).tiny)  # (B, T, H)
        return (share * active).sum(dim=1)  # (B, H)

    def _drawn(self, active: Tensor) -> Tensor:
        """The first token at which the running sum reaches a random part of the total.

        One number for each row and feature, so padding does not change what is drawn. Of a token
        without activation the sum does not grow: it is never drawn, unless no token is active.
        """
        reached = active.detach().cumsum(dim=1)  # (B, T, H)
        total = reached[:, -1:]  # (B, 1, H)
        drawn = torch.rand(total.shape, dtype=total.dtype, device=total.device)  # (B, 1, H), [0, 1)
        goal = (1.0 - drawn) * total  # (B, 1, H), above 0 and at most the total
        token = (reached < goal).sum(dim=1, keepdim=True)  # (B, 1, H)
        return active.gather(1, token).squeeze(1)  # (B, H)


class MeanPooler(Pooler):
    def pool(self, states: Tensor, keep: Tensor) -> Tensor:
        return _mean(states, keep)  # (B, H)


class MaxPooler(Pooler):
    def pool(self, states: Tensor, keep: Tensor) -> Tensor:
        return _max(states, keep)  # (B, H)


class AttentionPooler(Pooler):
    """At first the query is zero, and this is the mean."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.query = nn.Parameter(torch.zeros(width))  # (H,)

    def pool(self, states: Tensor, keep: Tensor) -> Tensor:
        scores = states @ self.query.to(states.dtype)  # (B, T)
        weights = masked_softmax(scores, keep)  # (B, T)
        return (weights.unsqueeze(1) @ states).squeeze(1)  # (B, H)


class JoinedPooler(Pooler):
    """The results of several poolers side by side."""

    def __init__(self, parts: Sequence[Pooler]) -> None:
        super().__init__(sum(part.out_width for part in parts))
        self.parts = nn.ModuleList(parts)

    def pool(self, states: Tensor, keep: Tensor) -> Tensor:
        pooled = []
        for part in self.parts:
            assert isinstance(part, Pooler)
            pooled.append(part.pool(states, keep))  # (B, out_width of the part)
        return torch.cat(pooled, dim=-1)  # (B, out_width)


def _first(states: Tensor, keep: Tensor) -> Tensor:
    """The state of the first token: (B, H)."""
    return _token(states, keep.byte().argmax(dim=1))


def _longest(states: Tensor) -> Tensor:
    """The state with the largest L2 norm; ties go to the first: (B, H). Padding is zero."""
    squared = states.detach().square().sum(dim=-1)  # (B, T)
    return _token(states, squared.argmax(dim=1))


def _token(states: Tensor, index: Tensor) -> Tensor:
    """One state of each row: index (B,) -> (B, H)."""
    where = index.view(-1, 1, 1).expand(-1, 1, states.shape[-1])  # (B, 1, H)
    return states.gather(1, where).squeeze(1)  # (B, H)


def _mean(states: Tensor, keep: Tensor) -> Tensor:
    return states.sum(dim=1) / keep.sum(dim=1, keepdim=True)  # (B, H)


def _max(states: Tensor, keep: Tensor) -> Tensor:
    return torch.where(keep.unsqueeze(-1), states, -math.inf).amax(dim=1)  # (B, H)


def _dense(inputs: int, outputs: int) -> nn.Linear:
    dense = nn.Linear(inputs, outputs)
    # The default would saturate tanh at once where its input is a sum over tokens.
    nn.init.normal_(dense.weight, std=BERT_DEVIATION)
    nn.init.zeros_(dense.bias)
    return dense


def _project(dense: nn.Linear, x: Tensor) -> Tensor:
    """In the dtype of x, even if the weights are in half precision."""
    return F.linear(x, dense.weight.to(x.dtype), dense.bias.to(x.dtype))  # (B, out)


def _meanmax(*, mean: bool, elementwise: bool) -> Callable[[int], Pooler]:
    return lambda width: MeanMaxPooler(width, mean=mean, elementwise=elementwise)


_POOLERS: dict[str, Callable[[int], Pooler]] = {
    "cls": ClsPooler,
    "meanmax": _meanmax(mean=False, elementwise=False),
    "meanmax-mean": _meanmax(mean=True, elementwise=False),
    "meanmax-elementwise": _meanmax(mean=False, elementwise=True),
    "meanmax-mean-elementwise": _meanmax(mean=True, elementwise=True),
    "mswap": MSwapPooler,
    "swap": SwapPooler,
    "stochastic": StochasticPooler,
    "mean": MeanPooler,
    "max": MaxPooler,
    "attention": AttentionPooler,
}
POOLERS = tuple(_POOLERS)


def make_pooler(names: Sequence[str], width: int) -> Pooler:
    """A pooler by name; several names: their results are joined, in this order."""
    unknown = [name for name in names if name not in _POOLERS]
    if unknown or not names or len(set(names)) < len(names):
        fault = f"poolers {', '.join(names) or 'of no name'}"
        raise ReadletError(f"{fault}; give one or several, each once, of {', '.join(POOLERS)}")
    parts = [_POOLERS[name](width) for name in names]
    return parts[0] if len(parts) == 1 else JoinedPooler(parts)
