"""Cross entropy with NormSoftmax, and the bound on its confidence."""

import math
import warnings

import pytest
import torch
import torch.nn.functional as F

from readlet.errors import ReadletError
from readlet.nn.normsoftmax.loss import _warn, highest_confidence, norm_cross_entropy
from readlet.nn.softmax import norm_softmax


@pytest.fixture(autouse=True)
def _clear_cache() -> None:
    _warn.cache_clear()


@pytest.mark.parametrize("gamma", [math.inf, 3.0, 0.5])
def test_it_is_the_cross_entropy_of_normalised_logits(gamma: float) -> None:
    logits = (4 * torch.randn(6, 300, dtype=torch.float64)).requires_grad_()
    labels = torch.randint(0, 300, (6,))
    sigma = logits.std(dim=1, correction=0, keepdim=True).clamp(max=gamma)
    wanted = F.cross_entropy(logits / sigma, labels)
    got = norm_cross_entropy(logits, labels, gamma)
    assert torch.allclose(got, wanted)
    gradients = [torch.autograd.grad(loss, logits)[0] for loss in (got, wanted)]
    assert torch.allclose(*gradients)


@pytest.mark.parametrize("classes", [2, 3, 10, 384])
def test_confidence_never_exceeds_the_bound(classes: int) -> None:
    keep = torch.ones(1, dtype=torch.bool)
    logits = torch.zeros(classes, dtype=torch.float64)
    logits[0] = 100
    bound = highest_confidence(classes)
    assert float(norm_softmax(logits, keep)[0]) == pytest.approx(bound)
    many = norm_softmax(30 * torch.randn(2000, classes, dtype=torch.float64) ** 3, keep)
    assert float(many.max()) <= bound + 1e-12


def test_labels_of_minus_100_are_ignored() -> None:
    logits = torch.randn(5, 300, dtype=torch.float64).requires_grad_()
    labels = torch.tensor([7, -100, 299, -100, 0])
    kept = labels >= 0
    got = norm_cross_entropy(logits, labels)
    assert torch.allclose(got, norm_cross_entropy(logits[kept], labels[kept]))
    (gradient,) = torch.autograd.grad(got, logits)
    assert (gradient[~kept] == 0).all()


def test_few_classes_warn_once() -> None:
    logits, labels = torch.randn(4, 3), torch.tensor([0, 1, 1, 0])
    with pytest.warns(
        UserWarning, match=r"over 3 classes without a cap .* at most 0\.81; set gamma"
    ):
        norm_cross_entropy(logits, labels)
    with warnings.catch_warnings(action="error"):
        losses = [
            norm_cross_entropy(logits, labels),
            norm_cross_entropy(torch.randn(4, 3), labels, gamma=1.0),
            norm_cross_entropy(torch.randn(4, 384), labels),
        ]
    assert all(loss > 0 for loss in losses)


def test_two_classes_learn_only_above_the_cap() -> None:
    """Their normalised scores are 1 and -1: the loss is that of a constant."""
    logits = torch.tensor([[0.3, 0.1], [0.1, 0.7]], dtype=torch.float64, requires_grad=True)
    labels = torch.tensor([1, 1])
    losses = {gamma: norm_cross_entropy(logits, labels, gamma) for gamma in (1.0, 0.2, 0.01)}
    constant = [math.log1p(math.exp(2)), math.log1p(math.exp(-2))]  # wrong, right
    assert float(losses[1.0]) == pytest.approx(sum(constant) / 2)
    size = {
        gamma: torch.autograd.grad(loss, logits)[0].abs().sum(dim=1).tolist()
        for gamma, loss in losses.items()
    }
    assert size[1.0] == pytest.approx([0.0, 0.0], abs=1e-12)
    assert size[0.2][0] == pytest.approx(0.0, abs=1e-12)  # a deviation of 0.1
    assert size[0.2][1] > 0.01  # a deviation of 0.3
    assert size[0.01][0] > 0.01
    with pytest.raises(ReadletError, match=r"^NormSoftmax over 2 classes .*; set gamma"):
        norm_cross_entropy(logits, labels)
