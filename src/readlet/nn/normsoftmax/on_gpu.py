"""The rescaled query of NormSoftmax on a GPU: the kernels as custom operators of torch.

torch's own operations take about twenty passes over queries and keys, in float32. The kernels read
them once or twice in their own dtype, and write the result and the inputs of the gradient. As
custom operators they work in compiled programs; like all kernels they can be captured in a CUDA
graph once they have run.
"""

import warnings
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from readlet.nn.normsoftmax import kernels

_WIDEST_HEAD, _WIDEST_HEAD_BF16 = 64, 128
"""Wider covariances do not fit into the shared memory of common GPUs next to a block of keys."""
_PROGRAMS = 264
"""Two for each multiprocessor of a large GPU: a few long heads are split into this many."""
_MAX_PARTS = 16
"""The parts of a head have to be summed, so there must not be too many."""


def fits(query: Tensor, key: Tensor) -> bool:
    """Whether the kernels can be used: a recent GPU, at most float32, heads of common width."""
    return query.is_cuda and supported(query, key) and _works(query.device.index)


def supported(query: Tensor, key: Tensor) -> bool:
    """Whether the kernels support such tensors, on any device."""
    widest = _WIDEST_HEAD_BF16 if query.dtype == torch.bfloat16 else _WIDEST_HEAD
    return (
        query.dim() == key.dim() == 4
        and query.shape[:2] == key.shape[:2]
        and query.shape[-1] == key.shape[-1] <= widest
        and query.numel() > 0
        and key.numel() > 0
        and query.device == key.device
        and query.dtype == key.dtype
        and query.dtype in (torch.float32, torch.bfloat16, torch.float16)
    )


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _works(device: int) -> bool:
    return _tried(device)


@cache
def _tried(device: int) -> bool:
    """Tried once: Triton needs a GPU since Ampere, a C compiler, and compatible versions."""
    if torch.version.hip is not None or torch.cuda.get_device_capability(device) < (8, 0):
        return False
    try:
        place = torch.device("cuda", device)
        few = torch.ones(1, 1, 16, 16, device=place, dtype=torch.bfloat16)
        return bool(_rescale(few, few, None, 1.0)[0].isfinite().all())
    except Exception as error:
        reason = str(error).strip().splitlines()[-1:] or [type(error).__name__]
        warnings.warn(f"NormSoftmax runs slower, without its kernels ({reason[0]})", stacklevel=2)
        return False


def rescaled_query(
    query: Tensor, key: Tensor, keep: Tensor | None, gamma: float
) -> tuple[Tensor, Tensor]:
    """query (B, H, Lq, E), key (B, H, Lk, E), keep (B, Lk) -> the rescaled query, and the key.

    The key is unchanged. But if attention uses the returned one, its gradient passes through here,
    and the kernel that computes the key's other gradient adds the two.
    """
    scaled, same = _RescaledQuery.apply(  # type: ignore[no-untyped-call]
        query, key, keep, float(min(gamma, 1e18))
    )
    return scaled, same if key.requires_grad else key


class _RescaledQuery(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, keep: Tensor | None, gamma: float
    ) -> tuple[Tensor, Tensor]:
        query, key = _with_dense_rows(query), _with_dense_rows(key)
        keep = None if keep is None else _with_dense_rows(keep)
        rescale = rescale_operation if torch.compiler.is_compiling() else _rescale
        scaled, statistics = rescale(query, key, keep, gamma)
        ctx.save_for_backward(scaled, key, keep, statistics)
        return scaled, key.view_as(key)

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, of_scaled: Tensor, of_key: Tensor
    ) -> tuple[Tensor, Tensor | None, None, None]:
        wanted = _with_dense_rows(of_key) if ctx.needs_input_grad[1] else None
        gradients = gradient_operation if torch.compiler.is_compiling() else _gradients
        of_query, added = gradients(_with_dense_rows(of_scaled), wanted, *ctx.saved_tensors)
        return of_query, None if wanted is None else added, None, None


def _with_dense_rows(tensor: Tensor) -> Tensor:
    """The tensor with a stride of 1 in the last dimension, as the kernels require."""
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()


def _empty_like(tensor: Tensor) -> Tensor:
    """An empty tensor of the same layout, with a stride of 1 in the last dimension.

    For overlapping rows, as `unfold` makes them, torch would choose another layout.
    """
    empty = torch.empty_like(tensor)
    return empty if empty.stride(-1) == 1 else tensor.new_empty(tensor.shape)


def _rescale(query: Tensor, key: Tensor, keep: Tensor | None, cap: float) -> tuple[Tensor, Tensor]:
    """The query rescaled, and statistics for its gradient (`_sizes`)."""
    batch, heads, length, width = query.shape
    rows, keys = batch * heads, key.shape[2]
    block = _Block.of(width, query.dtype)
    chunk = _quotient(_quotient(keys, block.parts(rows, keys)), block.rows) * block.rows
    parts = _quotient(keys, chunk)
    shares = rows * parts
    scaled = _empty_like(query)
    # Two allocations, not one for each: with short sequences the GPU waits for the CPU.
    statistics = query.new_empty(sum(_sizes(query)), dtype=torch.float32)
    covariance, mean, factor, total = statistics.split_with_sizes(_sizes(query))
    sizes = (shares * width * width, shares * width, rows * width, shares, rows * width * width)
    workspace = statistics.new_empty(sum(sizes))
    squares, shift, origin, count, few = workspace.split_with_sizes(sizes)
    with torch.cuda.device_of(query):  # type: ignore[no-untyped-call]
        kernels.key_statistics[(rows, parts)](
            key, keep, origin, shift, squares, count, few,
            *key.stride()[:3], 0 if keep is None else keep.stride(0),
            heads, keys, width, chunk,
            block.width, block.rows, keep is not None, block.bf16,
            **block.options,
        )  # fmt: skip
        kernels.rescale_queries[(rows, block.parts(rows, length))](
            query, origin, shift, squares, count, few, scaled, factor, mean, covariance, total,
            *query.stride()[:3], *scaled.stride()[:3],
            heads, length, width, cap, parts,
            block.width, block.rows, query.dtype == torch.float16, block.bf16,
            **block.options,
        )  # fmt: skip
    return scaled, statistics


# Compiled programs call the kernels as custom operators, opaque to the compiler. In eager mode
# these would only add overhead.
rescale_operation = torch.library.custom_op("readlet::norm_rescale", _rescale, mutates_args=())


@rescale_operation.register_fake
def _(query: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    return _empty_like(query), query.new_empty(sum(_sizes(query)), dtype=torch.float32)


def _gradients(
    of_scaled: Tensor,
    of_key: Tensor | None,
    scaled: Tensor,
    key: Tensor,
    keep: Tensor | None,
    statistics: Tensor,
) -> tuple[Tensor, Tensor]:
    """Gradients of the query and the key; the latter includes `of_key`, or is empty without it."""
    batch, heads, length, width = scaled.shape
    rows, keys = batch * heads, key.shape[2]
    block = _Block.of(width, scaled.dtype)
    parts = block.parts(rows, length)
    covariance, mean, factor, total = statistics.split_with_sizes(_sizes(scaled))
    of_query = _empty_like(scaled)
    of_covariance = statistics.new_empty(rows, parts, width, width)
    with torch.cuda.device_of(scaled):  # type: ignore[no-untyped-call]
        kernels.query_gradients[(rows, parts)](
            of_scaled, scaled, factor, covariance, total, of_query, of_covariance,
            *of_scaled.stride()[:3], *scaled.stride()[:3], *of_query.stride()[:3],
            heads, length, width,
            block.width, block.rows, block.bf16,
            **block.options,
        )  # fmt: skip
        if of_key is None:
            return of_query, key.new_empty(0)
        result = _empty_like(key)
        kernels.key_gradients[(rows, block.parts(rows, keys))](
            of_key, key, keep, mean, total, of_covariance, result,
            *of_key.stride()[:3], *key.stride()[:3], *result.stride()[:3],
            0 if keep is None else keep.stride(0),
            heads, keys, width, parts,
            block.width, block.rows, keep is not None, block.bf16,
            **block.options,
        )  # fmt: skip
    return of_query, result


gradient_operation = torch.library.custom_op(
    "readlet::norm_rescale_gradients", _gradients, mutates_args=()
)


@gradient_operation.register_fake
def _(
    of_scaled: Tensor, of_key: Tensor | None, scaled: Tensor, key: Tensor, *_: Any
) -> tuple[Tensor, Tensor]:
    return _empty_like(scaled), key.new_empty(0) if of_key is None else _empty_like(key)


def _sizes(query: Tensor) -> tuple[int, int, int, int]:
    """Sizes of the statistics for the gradient, all float32.

    In this order: the kept keys' covariance (B, H, E, E) and mean (B, H, E); the factors
    (B, H, Lq), negative where they do not depend on the query; the number of kept keys (B, H).
    """
    batch, heads, length, width = query.shape
    rows = batch * heads
    return rows * width * width, rows * width, rows * length, rows


def _quotient(whole: int, part: int) -> int:
    """Rounded up. Triton's own function is made for kernels, and slow outside them."""
    return -(-whole // part)


class _Block(NamedTuple):
    """The block that one program processes at once."""

    width: int  # tensor cores multiply blocks of at least 16
    rows: int
    bf16: bool
    options: dict[str, int]

    @classmethod
    @cache
    def of(cls, width: int, dtype: torch.dtype) -> "_Block":
        block, bf16 = max(16, 1 << (width - 1).bit_length()), dtype == torch.bfloat16
        rows = 64 if block <= 64 else 32
        return cls(block, rows, bf16, {"num_warps": 4 if block <= 64 else 8, "num_stages": 1})

    def parts(self, heads: int, length: int) -> int:
        """The number of programs that share the positions of a head."""
        return max(1, min(_quotient(length, self.rows), _PROGRAMS // heads, _MAX_PARTS))
