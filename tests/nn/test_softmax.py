import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from readlet.errors import ReadletError
from readlet.nn.softmax import (
    MASKED,
    masked_log_softmax,
    masked_softmax,
    norm_log_softmax,
    norm_softmax,
)

FUNCTIONS = [masked_softmax, masked_log_softmax, norm_softmax, norm_log_softmax]
DTYPES = [torch.float32, torch.bfloat16, torch.float16]
KEEP = torch.tensor([[1, 1, 0, 1], [0, 0, 0, 0], [0, 1, 0, 0]], dtype=torch.bool)


def oracle(scores: Tensor, keep: Tensor) -> np.ndarray:
    """Softmax with plain loops over the kept entries of each row."""
    result = np.zeros(scores.shape)
    for i, row in enumerate(scores.double().tolist()):
        kept = [j for j in range(len(row)) if keep[i, j]]
        total = sum(math.exp(row[j]) for j in kept)
        for j in kept:
            result[i, j] = math.exp(row[j]) / total
    return result


@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(torch.float64, 1e-14), (torch.float32, 1e-6), (torch.bfloat16, 4e-3), (torch.float16, 5e-4)],
)
def test_values(dtype: torch.dtype, tolerance: float) -> None:
    scores = (3 * torch.randn(3, 4)).to(dtype)
    expected = oracle(scores, KEEP)
    probabilities = masked_softmax(scores, KEEP)
    assert probabilities.dtype == dtype
    np.testing.assert_allclose(probabilities.double().numpy(), expected, rtol=0, atol=tolerance)

    logs = masked_log_softmax(scores, KEEP)
    assert logs.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    kept = KEEP.numpy()
    np.testing.assert_allclose(logs.numpy()[kept], np.log(expected[kept]), rtol=1e-5, atol=1e-6)
    assert (logs[~KEEP] == MASKED).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("poison", [0.0, math.inf, -math.inf, math.nan])
def test_masked_scores_never_matter(dtype: torch.dtype, poison: float) -> None:
    clean = torch.randn(3, 4).to(dtype)
    scores = clean.masked_fill(~KEEP, poison).requires_grad_()
    for function in (masked_softmax, masked_log_softmax):
        output = function(scores, KEEP)
        assert torch.equal(output, function(clean, KEEP))
        scores.grad = None
        (output * torch.arange(12.0).view(3, 4).to(dtype)).masked_fill(~KEEP, 0).sum().backward()
        assert scores.grad is not None
        assert torch.isfinite(scores.grad).all()
        assert (scores.grad[~KEEP] == 0).all()
        assert (scores.grad[0] != 0).any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_fully_masked_row_is_zero_and_its_logs_are_finite(dtype: torch.dtype) -> None:
    scores = torch.full((2, 5), torch.finfo(dtype).min, dtype=dtype, requires_grad=True)
    keep = torch.zeros(2, 5, dtype=torch.bool)
    probabilities = masked_softmax(scores, keep)
    logs = masked_log_softmax(scores, keep)
    assert (probabilities == 0).all()
    assert (logs == MASKED).all()
    assert torch.isfinite(logs + logs).all()
    (probabilities.sum() + logs.sum()).backward()
    assert scores.grad is not None
    assert (scores.grad == 0).all()


@pytest.mark.parametrize("function", [masked_softmax, masked_log_softmax])
def test_gradients(function: object) -> None:
    scores = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    assert callable(function)
    assert torch.autograd.gradcheck(lambda s: function(s, KEEP), (scores,))


def test_padding_a_row_changes_nothing() -> None:
    scores = torch.randn(1, 5)
    alone = masked_softmax(scores, torch.ones(1, 5, dtype=torch.bool))
    wide = torch.cat([scores, torch.full((1, 4), 1e4)], dim=1).repeat(3, 1)
    keep = (torch.arange(9) < 5).expand(3, 9)
    torch.testing.assert_close(masked_softmax(wide, keep)[1:2, :5], alone)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("keep", [KEEP.long(), KEEP.float(), KEEP[:, :3], KEEP.expand(2, 3, 4)])
def test_a_wrong_mask_is_reported(function: Callable[..., Tensor], keep: Tensor) -> None:
    with pytest.raises(ReadletError, match=r"^mask: "):
        function(torch.randn(3, 4), keep)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_minus_infinity_is_not_kept(function: Callable[..., Tensor], dtype: torch.dtype) -> None:
    """Torch's way to mask, also for a whole row."""
    scores = torch.randn(3, 4).to(dtype)
    low = scores.masked_fill(~KEEP, -math.inf).requires_grad_()
    got = function(low, torch.ones(1, dtype=torch.bool))
    assert torch.equal(got, function(scores, KEEP))
    (gradient,) = torch.autograd.grad(got[got > MASKED].sum(), low)
    assert gradient.isfinite().all()


def test_one_program_when_compiled() -> None:
    compiled = torch.compile(masked_softmax, backend="eager", fullgraph=True)
    scores = torch.randn(3, 4)
    assert torch.equal(compiled(scores, KEEP), masked_softmax(scores, KEEP))
    torch._dynamo.reset()
