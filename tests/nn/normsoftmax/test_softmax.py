"""NormSoftmax over kept positions, against loops and finite differences."""

import math
import statistics
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from readlet.errors import ReadletError
from readlet.nn.softmax import MASKED, masked_softmax, norm_log_softmax, norm_softmax

KEEP = torch.tensor([[1, 1, 0, 1, 1], [0, 0, 0, 0, 0], [0, 1, 0, 0, 0]], dtype=torch.bool)
GAMMAS = [math.inf, math.sqrt(8), 0.5]


def oracle(scores: Tensor, keep: Tensor, gamma: float) -> list[list[float]]:
    """The definition, with plain loops."""
    rows = []
    for row, kept in zip(scores.double().tolist(), keep.tolist(), strict=True):
        values = [x for x, k in zip(row, kept, strict=True) if k]
        sigma = max(statistics.pstdev(values), 1e-6) if values else 1.0
        scale = min(sigma, gamma)
        total = sum(math.exp((x - max(values)) / scale) for x in values)
        rows.append(
            [
                math.exp((x - max(values)) / scale) / total if k else 0.0
                for x, k in zip(row, kept, strict=True)
            ]
        )
    return rows


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(torch.float64, 1e-12), (torch.float32, 1e-6), (torch.bfloat16, 4e-3), (torch.float16, 5e-4)],
)
def test_values(dtype: torch.dtype, tolerance: float, gamma: float) -> None:
    scores = (7 * torch.randn(3, 5)).to(dtype)
    got = norm_softmax(scores, KEEP, gamma=gamma)
    assert got.dtype == dtype
    wanted = torch.tensor(oracle(scores, KEEP, gamma), dtype=torch.float64)
    assert torch.allclose(got.double(), wanted, atol=tolerance, rtol=0)
    logs = norm_log_softmax(scores, KEEP, gamma=gamma)
    assert logs.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert torch.allclose(logs.exp().double(), wanted, atol=tolerance, rtol=0)
    assert (logs[~KEEP] == MASKED).all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("large", [0.0, 1e4])
def test_edge_rows(dtype: torch.dtype, large: float) -> None:
    scores = torch.full((3, 5), large, dtype=dtype).requires_grad_()
    probabilities = norm_softmax(scores, KEEP)
    assert probabilities[0].tolist() == [0.25, 0.25, 0.0, 0.25, 0.25]  # equal scores
    assert probabilities[1].tolist() == [0.0] * 5  # nothing kept
    assert probabilities[2].tolist() == [0.0, 1.0, 0.0, 0.0, 0.0]  # one kept
    (gradient,) = torch.autograd.grad(probabilities[:, 1].sum(), scores)
    assert gradient.isfinite().all()


@pytest.mark.parametrize("value", [10.1, 100.1, 1000.1])
def test_equal_scores_give_no_gradient(value: float) -> None:
    scores = torch.full((1, 7), value).requires_grad_()
    logs = norm_log_softmax(scores, torch.ones(1, dtype=torch.bool))
    (gradient,) = torch.autograd.grad(logs[0, 0], scores)
    assert (gradient == 0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("poison", [math.inf, -math.inf, math.nan])
def test_masked_scores_never_matter(dtype: torch.dtype, poison: float) -> None:
    clean = torch.randn(3, 5).to(dtype)
    scores = clean.masked_fill(~KEEP, poison).requires_grad_()
    got = norm_softmax(scores, KEEP)
    assert torch.equal(got, norm_softmax(clean, KEEP))
    (gradient,) = torch.autograd.grad((got * torch.randn(5)).sum(), scores)
    assert gradient.isfinite().all()
    assert (gradient[~KEEP] == 0).all()


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("function", [norm_softmax, norm_log_softmax])
def test_gradients(function: Callable[..., Tensor], gamma: float) -> None:
    scores = (2 * torch.randn(3, 5, dtype=torch.float64)).requires_grad_()
    weights = torch.randn(3, 5, dtype=torch.float64)

    def weighted(x: Tensor) -> Tensor:
        return (function(x, KEEP, gamma=gamma).masked_fill(~KEEP, 0.0) * weights).sum()

    assert torch.autograd.gradcheck(weighted, (scores,))


def test_scale_and_shift_do_not_matter_below_the_cap() -> None:
    scores = torch.randn(3, 5, dtype=torch.float64)
    plain = norm_softmax(scores, KEEP)
    assert torch.allclose(norm_softmax(40 * scores - 7, KEEP), plain, atol=1e-12)
    assert not torch.allclose(norm_softmax(40 * scores, KEEP, gamma=1.0), plain, atol=1e-3)


@pytest.mark.parametrize("gamma", [0.0, -1.0, math.nan, 1e-25, "sqrt(d)", None, True])
def test_a_wrong_gamma_is_reported(gamma: Any) -> None:
    with pytest.raises(ReadletError, match=r"gamma .*: give sqrt\(d\), infinity or a number of"):
        norm_softmax(torch.zeros(3, 5), KEEP, gamma=gamma)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("share", [1, 2])
def test_the_lowest_number_masks_like_minus_infinity(dtype: torch.dtype, share: int) -> None:
    lowest = torch.finfo(dtype).min / share
    scores = torch.tensor([[1.0, 2.0, lowest, lowest], [lowest] * 4], dtype=dtype)
    infinite = scores.masked_fill(scores == lowest, -math.inf)
    keep = torch.ones_like(scores, dtype=torch.bool)
    for function in (masked_softmax, norm_softmax):
        assert torch.equal(function(scores, keep), function(infinite, keep))
    assert float(norm_softmax(scores, keep)[0, :2].sum()) == pytest.approx(1.0, abs=1e-2)
