"""The kernels of NormSoftmax attention; without a GPU, Triton's interpreter runs them."""

import math

import pytest
import torch
from torch import Tensor

pytest.importorskip("triton", reason="the kernels need Triton, which torch for GPUs brings along")

from readlet.nn import norm_attention as whole
from readlet.nn import norm_on_gpu

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TOLERANCE = {torch.float32: 2e-5, torch.bfloat16: 3e-2, torch.float16: 4e-3}


@pytest.fixture(autouse=True)
def _always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the kernels for anything that they know, wherever it lies."""
    monkeypatch.setattr(norm_on_gpu, "fits", lambda query, key: query.dtype != torch.float64)


def qkv(shape: tuple[int, int, int, int], dtype: torch.dtype) -> Tensor:
    """(B, L, 3, H, E): queries, keys and values as one product gives them, so with strides."""
    batch, heads, length, width = shape
    made = torch.randn(batch, length, 3, heads, width, device=DEVICE)
    made[:, :, 1] = 0.6 * made[:, :, 1] + 2.0  # keys with a mean far from zero
    return made.to(dtype)


def some_keys(batch: int, length: int) -> Tensor:
    keep = torch.rand(batch, length, device=DEVICE) > 0.4
    keep[0, :3] = False
    keep[0, 3] = True
    return keep


def with_gradient(
    function: object, leaf: Tensor, keep: Tensor | None, gamma: float
) -> list[Tensor]:
    leaf = leaf.clone().requires_grad_()
    query, key, value = leaf.permute(2, 0, 3, 1, 4).unbind(0)  # 3 of (B, H, L, E)
    out: Tensor = function(query, key, value, keep, gamma=gamma)  # type: ignore[operator]
    weights = torch.linspace(-1, 1, out.numel(), device=DEVICE).view(out.shape).to(out.dtype)
    (gradient,) = torch.autograd.grad((out * weights).sum(), leaf)
    return [out.detach(), gradient]


@pytest.mark.parametrize("dtype", list(TOLERANCE))
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(
    ("shape", "gamma"),
    [
        ((2, 3, 70, 16), 4.0),
        ((1, 2, 200, 32), math.inf),
        ((2, 2, 40, 8), 0.7),
        ((1, 1, 65, 24), 3.0),
    ],
)
def test_exact_in_value_and_gradient(
    shape: tuple[int, int, int, int], gamma: float, masked: bool, dtype: torch.dtype
) -> None:
    leaf = qkv(shape, dtype)
    keep = some_keys(shape[0], shape[2]) if masked else None
    got = with_gradient(whole.norm_attention, leaf, keep, gamma)
    wanted = with_gradient(whole.materialised_norm_attention, leaf.double(), keep, gamma)
    for part, exact in zip(got, wanted, strict=True):
        assert part.dtype == dtype
        assert (part.double() - exact).norm() < TOLERANCE[dtype] * exact.norm()


def test_keys_of_another_length_than_the_queries() -> None:
    query, key = torch.randn(2, 2, 30, 16, device=DEVICE), torch.randn(2, 2, 90, 16, device=DEVICE)
    keep = some_keys(2, 90)
    got = whole.norm_attention(query, key, key, keep)
    assert torch.allclose(got, whole.materialised_norm_attention(query, key, key, keep), atol=1e-5)


def test_long_heads_are_shared_among_programs() -> None:
    """Their parts add up to the same: this is what a few long heads come to on a large GPU."""
    leaf = qkv((1, 1, 300, 16), torch.float32)
    block = norm_on_gpu._Block.of(16, torch.float32)
    assert block.parts(1, 300) == 5
    shared = with_gradient(whole.norm_attention, leaf, None, 4.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(norm_on_gpu, "_PROGRAMS", 1)
        assert block.parts(1, 300) == 1
        alone = with_gradient(whole.norm_attention, leaf, None, 4.0)
    for one, other in zip(shared, alone, strict=True):
        assert torch.allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("dtype", list(TOLERANCE))
def test_a_row_without_keys_gives_zeros_and_no_nan(dtype: torch.dtype) -> None:
    keep = some_keys(2, 40)
    keep[1] = False
    out, gradient = with_gradient(whole.norm_attention, qkv((2, 2, 40, 16), dtype), keep, 4.0)
    assert (out[1] == 0).all()
    assert (gradient[1] == 0).all()
    assert (out[0] != 0).any()
    assert out.isfinite().all()
    assert gradient.isfinite().all()


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("offset", [2.3, 50.3])
def test_nothing_is_learned_from_equal_keys(masked: bool, offset: float) -> None:
    query = torch.randn(2, 2, 40, 16, device=DEVICE, requires_grad=True)
    key = (torch.randn(2, 2, 1, 16, device=DEVICE) + offset).expand(2, 2, 130, 16)
    key = key.contiguous().requires_grad_()
    value = torch.randn(2, 2, 130, 16, device=DEVICE)
    keep = some_keys(2, 130) if masked else None
    out = whole.norm_attention(query, key, value, keep)
    of_query, of_key = torch.autograd.grad(out.square().sum(), (query, key))
    assert (of_query == 0).all()
    assert of_key.abs().max() == 0


def test_masked_keys_never_matter() -> None:
    leaf, keep = qkv((2, 2, 40, 16), torch.float32), some_keys(2, 40)
    wild = leaf.clone()
    wild[:, :, 1] = wild[:, :, 1].masked_fill(~keep[:, :, None, None], 1e4)
    for one, other in zip(
        with_gradient(whole.norm_attention, leaf, keep, 4.0),
        with_gradient(whole.norm_attention, wild, keep, 4.0),
        strict=True,
    ):
        assert torch.allclose(one, other, atol=1e-5)


def test_small_deviations_do_not_overflow_in_half_precision() -> None:
    query = torch.full((1, 1, 20, 16), 3e4, device=DEVICE, dtype=torch.float16)
    key = 1e-3 * torch.randn(1, 1, 20, 16, device=DEVICE).half()
    scaled, _ = norm_on_gpu.rescaled_query(query, key, None, 1e-3)
    assert scaled.isfinite().all()


def test_as_part_of_a_compiled_program() -> None:
    compiled = torch.compile(whole.norm_attention, backend="aot_eager", fullgraph=True)
    leaf, keep = qkv((2, 2, 40, 16), torch.float32), some_keys(2, 40)
    for one, other in zip(
        with_gradient(compiled, leaf, keep, 4.0),
        with_gradient(whole.norm_attention, leaf, keep, 4.0),
        strict=True,
    ):
        assert torch.allclose(one, other, atol=1e-6)
    torch._dynamo.reset()
