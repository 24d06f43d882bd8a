"""Procrustes against a known rotation, and against SciPy."""

import numpy as np
import pytest
import torch
from scipy.linalg import orthogonal_procrustes
from scipy.stats import ortho_group
from torch.nn.functional import normalize

from readlet.crosslingual.procrustes import distance_from_orthogonal, procrustes


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
    assert distance_from_orthogonal(found) < 1e-6
    wide = max(width, new)
    padded = [np.pad(v.double().numpy(), ((0, 0), (0, wide - v.shape[1]))) for v in (x, y)]
    expected, _ = orthogonal_procrustes(*padded)
    np.testing.assert_allclose(found.numpy(), expected.T[:new, :width], atol=1e-5)


def test_no_other_rotation_is_nearer() -> None:
    x, y = normalize(torch.randn(50, 5)), normalize(torch.randn(50, 5))
    least = (y - x @ procrustes(x, y).T).square().sum()
    for other in ortho_group.rvs(5, size=200, random_state=1):
        assert (y - x @ torch.from_numpy(other).float().T).square().sum() > least


def test_how_far_a_map_is_from_orthogonal() -> None:
    assert distance_from_orthogonal(torch.eye(3) * 2) == pytest.approx(3)
    assert distance_from_orthogonal(torch.eye(3)[:2]) == 0
