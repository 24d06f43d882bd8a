"""Neighbours and CSLS against plain sorting, whatever the blocks and bounds."""

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from readlet.vectors import alignment
from readlet.vectors.alignment import csls, nearest


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alignment, "_QUERIES", 7)
    monkeypatch.setattr(alignment, "_ROWS", 23)


def crowded(rows: int, width: int) -> Tensor:
    """Unit vectors that lean to one side, as those of words do: some are near to all others."""
    return normalize(torch.randn(rows, width) + torch.linspace(0, 1.5, width))


def all_scores(sources: Tensor, targets: Tensor) -> Tensor:
    cosines = sources.double() @ targets.double().T
    of_source = cosines.sort(dim=1, descending=True).values[:, :10].mean(dim=1)
    of_target = cosines.sort(dim=0, descending=True).values[:10].mean(dim=0)
    return 2 * cosines - of_source[:, None] - of_target


def test_nearest_rows_are_those_of_a_full_sort() -> None:
    queries, table, penalty = torch.randn(30, 6), torch.randn(100, 6), torch.rand(100)
    values, rows = nearest(queries, table, 4)
    expected = (queries @ table.T).sort(dim=1, descending=True)
    torch.testing.assert_close(values, expected.values[:, :4])
    assert torch.equal(rows, expected.indices[:, :4])
    values, rows = nearest(queries, table, 30, penalty=penalty)
    expected = (2 * queries @ table.T - penalty).sort(dim=1, descending=True)
    torch.testing.assert_close(values, expected.values[:, :30])
    assert torch.equal(rows, expected.indices[:, :30])


@pytest.mark.parametrize("seed", range(3))
def test_csls_equals_the_formula(seed: int) -> None:
    torch.manual_seed(seed)
    sources, targets = crowded(150, 12), crowded(200, 12)
    expected = all_scores(sources, targets)[:40].topk(3)
    scores, rows = csls(sources[:40], sources, targets, 3)
    torch.testing.assert_close(scores.double(), expected.values, atol=1e-5, rtol=0)
    assert torch.equal(rows, expected.indices)
