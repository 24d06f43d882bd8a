"""NormSoftmax attention against the form with all scores; the bound of a loss."""

import math
import warnings

import pytest
import torch
from torch import Tensor

from readlet.errors import ReadletError
from readlet.nn.normsoftmax import (
    highest_confidence,
    materialised_norm_attention,
    norm_attention,
    rescaled_query,
    warn_of_bound,
)
from readlet.nn.qanet import SelfAttention
from readlet.nn.softmax import norm_softmax

B, H, LQ, LK, E = 3, 2, 7, 11, 8
Tensors = tuple[Tensor, Tensor, Tensor]


def tensors(dtype: torch.dtype, offset: float = 2.0) -> Tensors:
    """Keys with a mean far from zero: the uncentred form would lose digits on them."""
    query = 1.5 * torch.randn(B, H, LQ, E, dtype=torch.float64)
    key = torch.randn(B, H, LK, E, dtype=torch.float64) + offset
    value = torch.randn(B, H, LK, E, dtype=torch.float64)
    return query.to(dtype), key.to(dtype), value.to(dtype)


def some_keys() -> Tensor:
    keep = torch.rand(B, LK) > 0.4
    keep[0] = True
    keep[1] = False
    keep[1, 3] = True  # one key only
    return keep


def with_gradients(
    function: object, inputs: Tensors, keep: Tensor | None, **named: object
) -> list[Tensor]:
    leaves = [t.clone().requires_grad_() for t in inputs]
    out: Tensor = function(*leaves, keep, **named)  # type: ignore[operator]
    weights = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out)
    return [out.detach(), *torch.autograd.grad((out * weights).sum(), leaves)]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("gamma", [None, math.inf, 0.7])
@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(torch.float64, 1e-12), (torch.float32, 2e-5), (torch.bfloat16, 3e-2)],
)
def test_exact_in_value_and_gradient(
    dtype: torch.dtype, tolerance: float, gamma: float | None, masked: bool
) -> None:
    inputs = tensors(dtype)
    keep = some_keys() if masked else None
    got = with_gradients(norm_attention, inputs, keep, gamma=gamma)
    exact: Tensors = tuple(t.double() for t in inputs)  # type: ignore[assignment]
    wanted = with_gradients(materialised_norm_attention, exact, keep, gamma=gamma)
    for ours, theirs in zip(got, wanted, strict=True):
        assert ours.dtype == dtype
        assert ours.isfinite().all()
        assert (ours.double() - theirs).norm() <= tolerance * theirs.norm()


def test_bfloat16_is_as_accurate_as_the_form_with_all_scores() -> None:
    """Both round; the error of ours must not be more than twice as large."""
    ours = theirs = 0.0
    for _ in range(20):
        inputs = tensors(torch.bfloat16, offset=0.5)
        exact: Tensors = tuple(t.double() for t in inputs)  # type: ignore[assignment]
        truth = materialised_norm_attention(*exact)
        ours += float((norm_attention(*inputs).double() - truth).norm())
        theirs += float((materialised_norm_attention(*inputs).double() - truth).norm())
    assert ours < 2 * theirs


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_row_without_keys_gives_zeros_and_no_nan(dtype: torch.dtype) -> None:
    keep = some_keys()
    keep[2] = False
    for part in with_gradients(norm_attention, tensors(dtype), keep):
        assert part.isfinite().all()
    out = with_gradients(norm_attention, tensors(dtype), keep)[0]
    assert (out[2] == 0).all()
    assert (out[1] != 0).any()


@pytest.mark.parametrize("compiled", [False, True])
def test_a_row_without_keys_gives_zeros_where_torch_does_not(
    monkeypatch: pytest.MonkeyPatch, compiled: bool
) -> None:
    fused = torch.nn.functional.scaled_dot_product_attention

    def as_cudnn(*inputs: Tensor, attn_mask: Tensor, **named: float) -> Tensor:
        nothing = ~attn_mask.any(dim=-1, keepdim=True)  # (B, 1, 1, 1)
        return fused(*inputs, attn_mask=attn_mask | nothing, **named)

    inputs, keep = tensors(torch.float64), some_keys()
    keep[2] = False
    expected = with_gradients(materialised_norm_attention, inputs, keep)
    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", as_cudnn)
    attention = norm_attention
    if compiled:
        attention = torch.compile(norm_attention, backend="aot_eager", fullgraph=True)
    for one, other in zip(with_gradients(attention, inputs, keep), expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)
        assert not one[2].any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_equal_keys_are_averaged(dtype: torch.dtype) -> None:
    query, key, value = tensors(dtype)
    key = key[:, :, :1].expand_as(key).contiguous()
    for keep in (None, some_keys()):
        parts = with_gradients(norm_attention, (query, key, value), keep)
        assert all(part.isfinite().all() for part in parts)
        if keep is None:
            mean = value.double().mean(dim=2, keepdim=True).expand(B, H, LQ, E)
            assert torch.allclose(parts[0].double(), mean, atol=2e-2)


@pytest.mark.parametrize("offset", [2.3, 50.3])
@pytest.mark.parametrize("masked", [False, True])
def test_equal_keys_give_no_gradient(offset: float, masked: bool) -> None:
    """The rounding error of their mean must not be taken for a deviation."""
    query, key, value = tensors(torch.float32, offset=offset)
    key = key[:, :, :1].expand_as(key).contiguous()
    _, of_query, of_key, _ = with_gradients(
        norm_attention, (query, key, value), some_keys() if masked else None
    )
    assert (of_query == 0).all()
    assert (of_key == 0).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 100.0, 300.0])
def test_keys_of_any_scale_in_half_precision(dtype: torch.dtype, scale: float) -> None:
    query, key, value = tensors(torch.float64, offset=0.0)
    inputs: Tensors = (query.to(dtype), (scale * key).to(dtype), value.to(dtype))
    exact: Tensors = tuple(t.double() for t in inputs)  # type: ignore[assignment]
    got = with_gradients(norm_attention, inputs, None)
    wanted = with_gradients(materialised_norm_attention, exact, None)
    assert all(part.isfinite().all() for part in got)
    assert (got[0].double() - wanted[0]).norm() < 0.03 * wanted[0].norm()


def test_queries_orthogonal_to_where_the_keys_vary_most() -> None:
    """Their deviation is a small part of a large covariance: half precision would lose it."""
    along = torch.zeros(E, dtype=torch.float64)
    along[0] = 1.0
    turned, _ = torch.linalg.qr(torch.randn(E, E, dtype=torch.float64))
    query, key, value = tensors(torch.float64, offset=0.0)
    key = key + 30 * torch.randn(B, H, LK, 1, dtype=torch.float64) * along
    query = query * (1 - along)
    inputs: Tensors = tuple(  # type: ignore[assignment]
        t.to(torch.bfloat16) for t in (query @ turned, key @ turned, value)
    )
    exact: Tensors = tuple(t.double() for t in inputs)  # type: ignore[assignment]
    wanted = materialised_norm_attention(*exact)
    error = (norm_attention(*inputs).double() - wanted).norm() / wanted.norm()
    assert error < 0.15  # with a covariance in bfloat16 it is several times larger


def few_kept(count: int, length: int, queries: int, width: int) -> tuple[Tensors, Tensor]:
    """Random queries of two examples that keep a few keys; some are nearly orthogonal to them."""
    query = torch.randn(2, 2, queries, width)
    key, value = torch.randn(2, 2, length, width) + 1.0, torch.randn(2, 2, length, width)
    return (query, key, value), torch.arange(length).expand(2, length) % (length // count) == 1


def worst_error(got: Tensor, wanted: Tensor) -> float:
    """The largest error of a query, relative to the mean norm of a result."""
    return float((got.double() - wanted).norm(dim=-1).max() / wanted.norm(dim=-1).mean())


@pytest.mark.parametrize("width", [8, 32])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_few_kept_keys_are_as_exact_as_with_all_scores(count: int, width: int) -> None:
    """Among so many queries, some have a deviation that the covariance loses."""
    inputs, keep = few_kept(count, 12, 5000, width)
    exact: Tensors = tuple(t.double() for t in inputs)  # type: ignore[assignment]
    got = with_gradients(norm_attention, inputs, keep, gamma=math.sqrt(width))
    wanted = with_gradients(materialised_norm_attention, exact, keep, gamma=math.sqrt(width))
    assert worst_error(got[0], wanted[0]) < 1e-4
    for ours, theirs in zip(got[1:], wanted[1:], strict=True):
        assert (ours.double() - theirs).norm() < 1e-3 * theirs.norm()


def test_two_keys_in_half_precision() -> None:
    inputs, keep = few_kept(2, 12, 5000, 16)
    rounded: Tensors = tuple(t.bfloat16() for t in inputs)  # type: ignore[assignment]
    exact: Tensors = tuple(t.double() for t in rounded)  # type: ignore[assignment]
    got = with_gradients(norm_attention, rounded, keep)
    wanted = with_gradients(materialised_norm_attention, exact, keep)
    assert worst_error(got[0], wanted[0]) < 0.02
    assert (got[1].double() - wanted[1]).norm() < 0.1 * wanted[1].norm()


@pytest.mark.parametrize("count", [1, 2, 3, 8, 9])
def test_padding_changes_nothing(count: int) -> None:
    """Not even for a query that is nearly orthogonal to the keys' differences."""
    (query, key, value), _ = few_kept(count, count, 3000, 8)
    keep = torch.ones(2, count, dtype=torch.bool)
    alone = with_gradients(norm_attention, (query, key, value), None)
    wider = [torch.cat([torch.randn(2, 2, 50, 8), t], dim=2) for t in (key, value)]
    padded = with_gradients(
        norm_attention, (query, *wider), torch.cat([torch.zeros(2, 50).bool(), keep], dim=1)
    )
    assert worst_error(padded[0], alone[0].double()) < 1e-4
    assert (padded[1] - alone[1]).norm() <= 1e-3 * alone[1].norm()
    for one, other in zip(padded[2:], alone[2:], strict=True):
        assert (one[:, :, 50:] - other).norm() < 1e-3 * other.norm().clamp(min=1e-6)
        assert not one[:, :, :50].any()


def test_masked_keys_never_matter() -> None:
    query, key, value = tensors(torch.float32)
    keep = some_keys()
    wild = key.masked_fill(~keep[:, None, :, None], 1e4)
    assert torch.allclose(
        norm_attention(query, key, value, keep), norm_attention(query, wild, value, keep), atol=1e-5
    )


def test_the_rescaled_query_gives_scores_of_deviation_one() -> None:
    query, key, _ = tensors(torch.float64)
    keep = some_keys()
    scores = rescaled_query(query, key, keep, math.inf) @ key.transpose(-1, -2)
    for b in (0, 2):
        assert torch.allclose(
            scores[b, :, :, keep[b]].std(dim=-1, correction=0),
            torch.ones(H, LQ, dtype=torch.float64),
        )


@pytest.mark.parametrize(
    "keep",
    [torch.ones(B, LK), torch.ones(B, LK + 1, dtype=torch.bool), torch.ones(LK, dtype=torch.bool)],
)
def test_a_wrong_mask_is_reported(keep: Tensor) -> None:
    with pytest.raises(ReadletError, match="mask"):
        norm_attention(*tensors(torch.float32), keep)


@pytest.mark.parametrize("gamma", [0.0, -2.0, math.nan])
def test_a_wrong_gamma_is_reported(gamma: float) -> None:
    with pytest.raises(ReadletError, match="gamma"):
        norm_attention(*tensors(torch.float32), gamma=gamma)


def test_self_attention_uses_it_on_request() -> None:
    torch.manual_seed(1)
    plain = SelfAttention(12, 2, 6, 0.0).eval()
    norm = SelfAttention(12, 2, 6, 0.0, norm_gamma=math.sqrt(6)).eval()
    norm.load_state_dict(plain.state_dict())
    x, keep = torch.randn(2, 5, 12), torch.tensor([[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]).bool()
    assert not torch.allclose(plain(x, keep), norm(x, keep), atol=1e-3)
    assert torch.allclose(norm(x, keep)[0, :4], norm(x[:1, :4], keep[:1, :4])[0], atol=1e-6)
    assert (norm(x, keep)[0, 4] == 0).all()


@pytest.mark.parametrize("classes", [2, 3, 10, 384])
def test_confidence_never_exceeds_the_bound(classes: int) -> None:
    keep = torch.ones(1, dtype=torch.bool)
    logits = torch.zeros(classes, dtype=torch.float64)
    logits[0] = 100
    bound = highest_confidence(classes)
    assert float(norm_softmax(logits, keep)[0]) == pytest.approx(bound)
    many = norm_softmax(30 * torch.randn(2000, classes, dtype=torch.float64) ** 3, keep)
    assert float(many.max()) <= bound + 1e-12


def test_few_classes_warn_once() -> None:
    warn_of_bound.cache_clear()
    with pytest.warns(UserWarning, match="over 3 classes"):
        warn_of_bound(3, "gamma")
    with warnings.catch_warnings(action="error"):
        warn_of_bound(3, "gamma")
        warn_of_bound(384, "gamma")
