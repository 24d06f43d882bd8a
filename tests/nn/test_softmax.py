"""Softmax and NormSoftmax over kept positions, against loops and finite differences."""

import math
import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from readlet.errors import ReadletError
from readlet.nn.softmax import (
    MASKED,
    masked_log_softmax,
    masked_softmax,
    norm_softmax,
)

FUNCTIONS = [masked_softmax, masked_log_softmax, norm_softmax]
GAMMAS = [math.inf, math.sqrt(8), 0.5]
DTYPES = [torch.float32, torch.bfloat16, torch.float16]
KEEP = torch.tensor([[1, 1, 0, 1, 1], [0, 0, 0, 0, 0], [0, 1, 0, 0, 0]], dtype=torch.bool)


def oracle(scores: Tensor, gamma: float | None) -> Tensor:
    """The definition, with plain loops over the kept entries of each row."""
    result = torch.zeros(scores.shape, dtype=torch.float64)
    for i, row in enumerate(scores.double().tolist()):
        kept = [j for j in range(len(row)) if KEEP[i, j]]
        sigma = statistics.pstdev([row[j] for j in kept]) if kept else 1.0
        scale = 1.0 if gamma is None else min(max(sigma, 1e-6), gamma)
        largest = max((row[j] for j in kept), default=0.0)
        odds = {j: math.exp((row[j] - largest) / scale) for j in kept}
        for j in kept:
            result[i, j] = odds[j] / sum(odds.values())
    return result


@pytest.mark.parametrize("gamma", [None, *GAMMAS])
@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(torch.float64, 1e-12), (torch.float32, 1e-6), (torch.bfloat16, 4e-3), (torch.float16, 5e-4)],
)
def test_values(dtype: torch.dtype, tolerance: float, gamma: float | None) -> None:
    scores = (5 * torch.randn(3, 5)).to(dtype)
    expected = oracle(scores, gamma)
    function = masked_softmax if gamma is None else partial(norm_softmax, gamma=gamma)
    got = function(scores, KEEP)
    assert got.dtype == dtype
    assert torch.allclose(got.double(), expected, atol=tolerance, rtol=0)
    logs, expected = masked_log_softmax(scores, KEEP), oracle(scores, None)
    assert logs.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert torch.allclose(logs.double()[KEEP], expected[KEEP].log(), rtol=1e-5, atol=1e-5)
    assert (logs[~KEEP] == MASKED).all()


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("poison", [0.0, math.inf, -math.inf, math.nan])
def test_masked_scores_never_matter(
    function: Callable[..., Tensor], dtype: torch.dtype, poison: float
) -> None:
    clean = torch.randn(3, 5).to(dtype)
    scores = clean.masked_fill(~KEEP, poison).requires_grad_()
    got = function(scores, KEEP)
    assert torch.equal(got, function(clean, KEEP))
    weighted = (got * torch.arange(15.0).view(3, 5)).masked_fill(~KEEP, 0.0)
    (gradient,) = torch.autograd.grad(weighted.sum(), scores)
    assert gradient.isfinite().all()
    assert (gradient[~KEEP] == 0).all()
    assert (gradient[0] != 0).any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("of_row", [masked_softmax, norm_softmax])
def test_a_fully_masked_row_is_zero_and_its_logs_are_finite(
    of_row: Callable[..., Tensor], dtype: torch.dtype
) -> None:
    scores = torch.full((2, 5), torch.finfo(dtype).min, dtype=dtype, requires_grad=True)
    keep = torch.zeros(2, 5, dtype=torch.bool)
    probabilities, logs = of_row(scores, keep), masked_log_softmax(scores, keep)
    assert (probabilities == 0).all()
    assert (logs == MASKED).all()
    assert torch.isfinite(logs + logs).all()
    (gradient,) = torch.autograd.grad(probabilities.sum() + logs.sum(), scores)
    assert (gradient == 0).all()


@pytest.mark.parametrize("dtype", [torch.float64, *DTYPES])
@pytest.mark.parametrize("value", [0.0, 10.1, 1e4])
def test_equal_scores_are_uniform_and_give_no_gradient(dtype: torch.dtype, value: float) -> None:
    scores = torch.full((3, 5), value, dtype=dtype).requires_grad_()
    probabilities = norm_softmax(scores, KEEP)
    assert probabilities[0].tolist() == [0.25, 0.25, 0.0, 0.25, 0.25]
    assert probabilities[2].tolist() == [0.0, 1.0, 0.0, 0.0, 0.0]  # one kept
    (gradient,) = torch.autograd.grad(probabilities[0, 0], scores)
    assert (gradient == 0).all()


@pytest.mark.parametrize(
    "function",
    [
        masked_softmax,
        masked_log_softmax,
        *(partial(norm_softmax, gamma=gamma) for gamma in GAMMAS),
    ],
)
def test_gradients(function: Callable[..., Tensor]) -> None:
    scores = (2 * torch.randn(3, 5, dtype=torch.float64)).requires_grad_()
    weights = torch.randn(3, 5, dtype=torch.float64)

    def weighted(x: Tensor) -> Tensor:
        return (function(x, KEEP).masked_fill(~KEEP, 0.0) * weights).sum()

    assert torch.autograd.gradcheck(weighted, (scores,))


def test_padding_a_row_changes_nothing() -> None:
    scores = torch.randn(1, 5)
    alone = masked_softmax(scores, torch.ones(1, 5, dtype=torch.bool))
    wide = torch.cat([scores, torch.full((1, 4), 1e4)], dim=1).repeat(3, 1)
    keep = (torch.arange(9) < 5).expand(3, 9)
    torch.testing.assert_close(masked_softmax(wide, keep)[1:2, :5], alone)


def test_scale_and_shift_do_not_matter_below_the_cap() -> None:
    scores = torch.randn(3, 5, dtype=torch.float64)
    plain = norm_softmax(scores, KEEP)
    assert torch.allclose(norm_softmax(40 * scores - 7, KEEP), plain, atol=1e-12)
    assert not torch.allclose(norm_softmax(40 * scores, KEEP, gamma=1.0), plain, atol=1e-3)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("keep", [KEEP.long(), KEEP.float(), KEEP[:, :3], KEEP.expand(2, 3, 5)])
def test_a_wrong_mask_is_reported(function: Callable[..., Tensor], keep: Tensor) -> None:
    with pytest.raises(ReadletError, match=r"^mask: "):
        function(torch.randn(3, 5), keep)


@pytest.mark.parametrize("gamma", [0.0, -1.0, math.nan, 1e-25, "sqrt(d)", None, True])
def test_a_wrong_gamma_is_reported(gamma: Any) -> None:
    with pytest.raises(ReadletError, match=r"^gamma "):
        norm_softmax(torch.zeros(3, 5), KEEP, gamma=gamma)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", [torch.float64, *DTYPES])
@pytest.mark.parametrize("share", [0, 1, 2])
def test_substitutes_for_minus_infinity_are_not_kept(
    function: Callable[..., Tensor], dtype: torch.dtype, share: int
) -> None:
    """Torch masks with minus infinity, others with the lowest number or half of it."""
    lowest = torch.finfo(dtype).min / share if share else -math.inf
    scores = torch.randn(3, 5).to(dtype)
    low = scores.masked_fill(~KEEP, lowest).requires_grad_()
    got = function(low, torch.ones(1, dtype=torch.bool))
    assert torch.equal(got, function(scores, KEEP))
    (gradient,) = torch.autograd.grad(got[got > MASKED].sum(), low)
    assert gradient.isfinite().all()


def test_one_program_when_compiled() -> None:
    compiled = torch.compile(masked_softmax, backend="eager", fullgraph=True)
    scores = torch.randn(3, 5)
    assert torch.equal(compiled(scores, KEEP), masked_softmax(scores, KEEP))
    torch._dynamo.reset()
