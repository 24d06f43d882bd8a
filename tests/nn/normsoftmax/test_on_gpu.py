"""The kernels of NormSoftmax attention; without a GPU, Triton's interpreter runs them."""

import math

import pytest
import torch
from torch import Tensor

pytest.importorskip("triton", reason="the kernels need Triton, which torch for GPUs brings along")

from readlet.nn.normsoftmax import attention as whole
from readlet.nn.normsoftmax import on_gpu

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TOLERANCE = {torch.float32: 2e-5, torch.bfloat16: 3e-2, torch.float16: 4e-3}


@pytest.fixture(autouse=True)
def _always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the kernels for all tensors that they support, on any device."""
    monkeypatch.setattr(whole, "gpu", on_gpu)
    monkeypatch.setattr(on_gpu, "fits", on_gpu.supported)


def qkv(shape: tuple[int, int, int, int], dtype: torch.dtype) -> Tensor:
    """(B, L, 3, H, E): queries, keys and values as one product gives them, so not contiguous."""
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


# Every shape in every dtype and with and without a mask, and every dtype with both.
SHAPES = [
    ((1, 2, 70, 16), 4.0),
    ((1, 1, 200, 32), math.inf),
    ((2, 3, 20, 8), 0.7),
    ((1, 1, 65, 24), 3.0),
    ((1, 1, 33, 3), 1.5),
    ((1, 1, 33, 64), 8.0),
]
CASES = [
    (*case, (row + column) % 2 == 0, dtype)
    for row, case in enumerate(SHAPES)
    for column, dtype in enumerate(TOLERANCE)
]


@pytest.mark.parametrize(("shape", "gamma", "masked", "dtype"), CASES)
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


def deviations(query: Tensor, key: Tensor) -> Tensor:
    """Standard deviations of the scores of every query, in float64; (B, H, Lq)."""
    scores = query.double() @ key.double().transpose(-1, -2)  # (B, H, Lq, Lk)
    return scores.std(dim=-1, correction=0)


@pytest.mark.parametrize("dtype", list(TOLERANCE))
@pytest.mark.parametrize("width", [16, 64])
def test_deviations_have_more_digits_than_the_inputs(width: int, dtype: torch.dtype) -> None:
    """Keys vary in one direction, thirty times as much as in the directions of the queries."""
    query = torch.randn(1, 2, 40, width, device=DEVICE)
    key = torch.randn(1, 2, 90, width, device=DEVICE)
    query[..., 0] = 0.0
    key[..., 0] *= 30.0
    turn, _ = torch.linalg.qr(torch.randn(width, width, device=DEVICE))
    query, key = (query @ turn).to(dtype), (key @ turn).to(dtype)
    _, statistics = on_gpu._rescale(query, key, None, 1e18)
    factor = statistics.split(on_gpu._sizes(query))[2].view(query.shape[:3])  # (B, H, Lq)
    error = (factor.double() * deviations(query, key) - 1).abs().max()
    assert error < (3e-3 if dtype == torch.bfloat16 else 1e-4)


def few_kept(count: int, dtype: torch.dtype, width: int = 16) -> tuple[Tensor, Tensor]:
    """Queries that are more and more orthogonal to the differences of the few kept keys."""
    leaf = qkv((1, 2, 100, width), torch.float32).double()
    keep = torch.arange(100, device=DEVICE)[None] % (100 // count) == 7  # (1, 100)
    kept = leaf[:, keep[0], 1].transpose(1, 2)  # (1, 2, count, E)
    differences = (kept[:, :, 1:] - kept[:, :, :1]).transpose(-1, -2)  # (1, 2, E, count - 1)
    basis, _ = torch.linalg.qr(differences)  # (1, 2, E, count - 1)
    query = leaf[:, :, 0].transpose(1, 2)  # (1, 2, 100, E)
    # On a GPU torch's fused attention rounds more than the interpreter does, and the gradients of
    # queries a thousand times as long as their share in the differences show it.
    least = -0.5 if DEVICE == "cuda" else -3
    share = torch.logspace(least, 0, 100, device=DEVICE, dtype=torch.float64)[:, None]  # (100, 1)
    query = query - (1 - share) * (query @ basis @ basis.transpose(-1, -2))
    leaf[:, :, 0] = query.transpose(1, 2)
    return leaf.to(dtype), keep


@pytest.mark.parametrize("count", [2, 3, 8])
@pytest.mark.parametrize("width", [8, 24])
def test_few_kept_keys_are_as_exact_as_with_all_scores(width: int, count: int) -> None:
    leaf, keep = few_kept(count, torch.float32, width)
    ours = with_gradient(whole.norm_attention, leaf, keep, 4.0)
    theirs = with_gradient(whole.materialised_norm_attention, leaf, keep, 4.0)
    exact = with_gradient(whole.materialised_norm_attention, leaf.double(), keep, 4.0)
    for one, other, wanted in zip(
        (ours[0], *ours[1].unbind(2)),
        (theirs[0], *theirs[1].unbind(2)),
        (exact[0], *exact[1].unbind(2)),
        strict=True,
    ):
        rounding = 5e-2 if DEVICE == "cuda" else 1e-5
        allowed = 30 * (other.double() - wanted).norm() + rounding * wanted.norm()
        assert (one.double() - wanted).norm() < allowed


@pytest.mark.parametrize("count", [1, 2, 16, 17])
def test_padding_changes_nothing(count: int) -> None:
    query = torch.randn(1, 1, 100, 16, device=DEVICE)
    key = torch.randn(1, 1, count, 16, device=DEVICE) + 2.0
    alone, _ = on_gpu.rescaled_query(query, key, None, 4.0)
    padded = torch.full((1, 1, 1200, 16), torch.nan, device=DEVICE)
    padded[:, :, 1100 : 1100 + count] = key
    keep = ~padded[:, 0, :, 0].isnan()  # (1, 1200)
    torch.testing.assert_close(
        on_gpu.rescaled_query(query, padded, keep, 4.0)[0], alone, rtol=1e-4, atol=1e-5
    )


def test_long_heads_are_split_among_programs() -> None:
    """The parts sum to the same: so a few long heads are computed on a large GPU."""
    leaf = qkv((1, 1, 300, 16), torch.float32)
    block = on_gpu._Block.of(16, torch.float32)
    assert block.parts(1, 300) == 5
    shared = with_gradient(whole.norm_attention, leaf, None, 4.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(on_gpu, "_PROGRAMS", 1)
        assert block.parts(1, 300) == 1
        alone = with_gradient(whole.norm_attention, leaf, None, 4.0)
    for one, other in zip(shared, alone, strict=True):
        assert torch.allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("dtype", list(TOLERANCE))
def test_a_row_without_keys_gives_zeros_and_no_nan(dtype: torch.dtype) -> None:
    keep = some_keys(2, 40)
    keep[1] = False
    out, gradient = with_gradient(whole.norm_attention, qkv((2, 1, 40, 16), dtype), keep, 4.0)
    assert (out[1] == 0).all()
    assert (gradient[1] == 0).all()
    assert (out[0] != 0).any()
    assert out.isfinite().all()
    assert gradient.isfinite().all()


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("offset", [2.3, 50.3])
def test_equal_keys_give_no_gradient(masked: bool, offset: float) -> None:
    query = torch.randn(2, 1, 40, 16, device=DEVICE, requires_grad=True)
    key = (torch.randn(2, 1, 1, 16, device=DEVICE) + offset).expand(2, 1, 130, 16)
    key = key.contiguous().requires_grad_()
    value = torch.randn(2, 1, 130, 16, device=DEVICE)
    keep = some_keys(2, 130) if masked else None
    out = whole.norm_attention(query, key, value, keep)
    of_query, of_key = torch.autograd.grad(out.square().sum(), (query, key))
    assert (of_query == 0).all()
    assert of_key.abs().max() == 0


def test_masked_keys_never_matter() -> None:
    leaf, keep = qkv((2, 1, 40, 16), torch.float32), some_keys(2, 40)
    wild = leaf.clone()
    wild[:, :, 1] = wild[:, :, 1].masked_fill(~keep[:, :, None, None], 1e4)
    for one, other in zip(
        with_gradient(whole.norm_attention, leaf, keep, 4.0),
        with_gradient(whole.norm_attention, wild, keep, 4.0),
        strict=True,
    ):
        assert torch.allclose(one, other, atol=1e-5)


def test_as_part_of_a_compiled_program() -> None:
    compiled = torch.compile(whole.norm_attention, backend="aot_eager", fullgraph=True)
    leaf, keep = qkv((2, 1, 40, 16), torch.float32), some_keys(2, 40)
    for one, other in zip(
        with_gradient(compiled, leaf, keep, 4.0),
        with_gradient(whole.norm_attention, leaf, keep, 4.0),
        strict=True,
    ):
        assert torch.allclose(one, other, atol=1e-6)
    torch._dynamo.reset()


def test_without_a_working_triton_it_warns_and_uses_torch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("Triton:\nno C compiler")

    monkeypatch.setattr(on_gpu, "_rescale", fails)
    monkeypatch.setattr(torch, "ones", lambda *_, **__: torch.zeros(1))  # where there is no GPU
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (9, 0))
    on_gpu._tried.cache_clear()
    with pytest.warns(UserWarning, match=r"runs slower, without its kernels \(no C compiler\)"):
        assert not on_gpu._works(0)
    assert not on_gpu._works(0)  # tried and reported once
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (7, 5))
    assert not on_gpu._works(1)
    on_gpu._tried.cache_clear()
