"""RCSLS: its gradient against automatic differentiation, and what it is good for."""

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from readlet.crosslingual import rcsls as rcsls_module
from readlet.crosslingual.checking import precisions
from readlet.crosslingual.procrustes import procrustes
from readlet.crosslingual.rcsls import rcsls, rcsls_loss


def loss_as_written(w: Tensor, x: Tensor, y: Tensor, sources: Tensor, targets: Tensor) -> Tensor:
    mapped = x @ w.T
    of_x = (mapped @ targets.T).topk(10).values.mean(dim=1)
    of_y = (y @ (sources @ w.T).T).topk(10).values.mean(dim=1)
    return (-2 * (mapped * y).sum(dim=1) + of_x + of_y).mean()


@pytest.mark.parametrize(("width", "new"), [(6, 6), (8, 5), (5, 8)])
def test_loss_and_gradient(width: int, new: int) -> None:
    sources, targets = normalize(torch.randn(60, width)), normalize(torch.randn(70, new))
    x, y = sources[:40], targets[:40]
    w = procrustes(x, y).requires_grad_()
    expected = loss_as_written(w, x, y, sources, targets)
    expected.backward()
    found = rcsls_loss(w.detach(), x, y, sources, targets)
    assert found.value == pytest.approx(float(expected.detach()), abs=1e-6)
    assert w.grad is not None
    torch.testing.assert_close(found.gradient, w.grad)


def other_languages(words: int, width: int) -> tuple[Tensor, Tensor]:
    """Two languages that are no rotation of each other: stretched, and with noise."""
    sources = torch.randn(words, width)
    stretched = sources @ (torch.eye(width) + 0.5 * torch.randn(width, width))
    return normalize(sources), normalize(stretched + torch.randn(words, width))


def test_more_unseen_words_are_found_than_by_a_rotation() -> None:
    torch.manual_seed(1)
    sources, targets = other_languages(1200, 16)
    x, y = sources[:800], targets[:800]
    unseen = {row: {row} for row in range(800, 1200)}
    start = procrustes(x, y)
    better = rcsls(start, x, y, sources, targets)
    before = precisions(normalize(sources @ start.T), targets, unseen)["csls"]
    after = precisions(normalize(sources @ better.T), targets, unseen)["csls"]
    assert after[1] > before[1] + 0.03
    assert after[5] > before[5]


def test_a_step_that_does_not_help_is_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    sources, targets = other_languages(200, 8)
    x, y = sources[:150], targets[:150]
    start = procrustes(x, y)
    losses = []
    for rate in (1e4, 1.0):
        monkeypatch.setattr(rcsls_module, "RATE", rate)
        w = rcsls(start, x, y, sources, targets)
        losses.append(rcsls_loss(w, x, y, sources, targets).value)
    first = rcsls_loss(start, x, y, sources, targets).value
    assert all(loss <= first for loss in losses)
    assert losses[1] < first
