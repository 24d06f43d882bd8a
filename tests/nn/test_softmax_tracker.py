"""Variance and entropy of every softmax, against loops."""

import math

import pytest
import torch
from torch import Tensor, nn

from readlet.nn.qanet import SelfAttention
from readlet.nn.softmax_tracker import tracked_softmax

X = torch.randn(2, 5, 12, generator=torch.Generator().manual_seed(3))
KEEP = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]).bool()


class Twice(nn.Module):
    """The same attention twice, as the model encoder runs its blocks."""

    def __init__(self, norm_gamma: float | None) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.attention = SelfAttention(12, 2, 6, 0.0, norm_gamma)

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        mixed: Tensor = self.attention(5 * self.attention(3 * x, keep), keep)
        return mixed


def by_hand(attention: SelfAttention, x: Tensor) -> tuple[float, float]:
    variances, entropies = [], []
    for b in range(2):
        words = int(KEEP[b].sum())
        qkv = attention.qkv(x[b, :words]).view(words, 3, 2, 6)
        for h in range(2):
            for q in range(words):
                scores = torch.stack([qkv[q, 0, h] @ qkv[k, 1, h] for k in range(words)])
                sigma = float(scores.std(correction=0))
                gamma = attention.norm_gamma
                scale = math.sqrt(6) if gamma is None else min(sigma, gamma)
                inputs = scores / scale
                weights = inputs.softmax(0)
                variances.append(float(inputs.var(correction=0)))
                entropies.append(float(-(weights * weights.log()).sum()) / math.log(words))
    return sum(variances) / len(variances), sum(entropies) / len(entropies)


@pytest.mark.parametrize("gamma", [None, math.inf, 0.4])
def test_numbers(gamma: float | None) -> None:
    model = Twice(gamma).eval()
    with torch.no_grad(), tracked_softmax(model) as found:
        model(X, KEEP)
    assert [one.layer for one in found] == ["attention", "attention"]
    with torch.no_grad():
        variance, entropy = by_hand(model.attention, 3 * X)
    assert found[0].variance == pytest.approx(variance, rel=1e-4)
    assert found[0].entropy == pytest.approx(entropy, rel=1e-4)
    if gamma == math.inf:
        assert found[1].variance == pytest.approx(1.0, abs=1e-4)


def test_nothing_is_left_behind_and_nothing_changes() -> None:
    model = Twice(None).eval()
    with torch.no_grad():
        before = model(X, KEEP)
        with tracked_softmax(model) as found:
            during = model(X, KEEP)
        after = model(X, KEEP)
    assert torch.equal(before, during)
    assert torch.equal(before, after)
    assert len(found) == 2


def test_an_example_without_words_does_not_give_nan() -> None:
    model = Twice(None).eval()
    keep = KEEP.clone()
    keep[0] = False
    with torch.no_grad(), tracked_softmax(model) as found:
        model(X, keep)
    assert len(found) == 2
    assert all(math.isfinite(f.variance) and math.isfinite(f.entropy) for f in found)
