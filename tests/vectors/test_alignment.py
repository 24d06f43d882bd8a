"""Procrustes against a known rotation and SciPy; RCSLS against automatic differentiation."""

import numpy as np
import pytest
import torch
from scipy.linalg import orthogonal_procrustes
from scipy.stats import ortho_group
from torch import Tensor
from torch.nn.functional import normalize

from readlet.vectors.alignment import precisions, procrustes, rcsls, rcsls_loss


def test_a_known_rotation_is_found_in_spite_of_noise() -> None:
    rotation = torch.from_numpy(ortho_group.rvs(20, random_state=0)).float()  # (20, 20)
    x = normalize(torch.randn(500, 20))
    noise = 0.05 * torch.randn(500, 20)
    found = procrustes(x, x @ rotation.T + noise)
    assert (found - rotation).abs().max() < 0.05
    assert torch.allclose(procrustes(x, x @ rotation.T), rotation, atol=1e-5)


def test_it_is_the_map_of_scipy() -> None:
    x, y = torch.randn(60, 8), torch.randn(60, 8)
    expected, _ = orthogonal_procrustes(x.double().numpy(), y.double().numpy())  # x R is near y
    np.testing.assert_allclose(procrustes(x, y).numpy(), expected.T, atol=1e-5)


@pytest.mark.parametrize(("width", "new"), [(6, 9), (9, 6)])
def test_widths_may_differ(width: int, new: int) -> None:
    """As if the narrower vectors had zeros in the missing dimensions."""
    x, y = torch.randn(80, width), torch.randn(80, new)
    found = procrustes(x, y)
    assert found.shape == (new, width)
    wide = max(width, new)
    padded = [np.pad(v.double().numpy(), ((0, 0), (0, wide - v.shape[1]))) for v in (x, y)]
    expected, _ = orthogonal_procrustes(*padded)
    np.testing.assert_allclose(found.numpy(), expected.T[:new, :width], atol=1e-5)


def test_no_other_rotation_is_nearer() -> None:
    x, y = normalize(torch.randn(50, 5)), normalize(torch.randn(50, 5))
    least = (y - x @ procrustes(x, y).T).square().sum()
    for other in ortho_group.rvs(5, size=200, random_state=1):
        assert (y - x @ torch.from_numpy(other).float().T).square().sum() > least


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
