"""Triton kernels for the rescaled query of NormSoftmax: keys' statistics, queries, gradients.

`norm_attention` explains the mathematics. One program works on one head of one example, or on a
part of its positions; all sums are float32. Products of bfloat16 inputs use bfloat16 tensor cores.
There, the values that determine sigma (centred keys and the covariance) are sums of two bfloat16
numbers, with 16 bits of precision together; values used only by gradients are rounded to one.
Products of other inputs have the precision of float32: `tf32x3` for sums over keys, `ieee` where a
product with a query determines sigma. Heads with at most as many kept keys as their width are
`few`: sigma is the deviation of their scores.
"""

import os

import triton
import triton.language as tl

from readlet.nn.normsoftmax import SIGMA_FLOOR
from readlet.nn.softmax import HALF_LIMIT

_HALF_LIMIT = tl.constexpr(HALF_LIMIT)
_FLOOR = tl.constexpr(SIGMA_FLOOR**2)
_IS_INTERPRETED = tl.constexpr(os.environ.get("TRITON_INTERPRET") == "1")
_TINY = tl.constexpr(1e-37)
_SCANNED = tl.constexpr(1024)  # positions of a mask read at once


@triton.jit
def key_statistics(
    key, keep, origin, shift, squares, count, few,
    key_batch, key_head, key_row, keep_batch,
    heads, length, width, chunk,
    BLOCK: tl.constexpr, ROWS: tl.constexpr, MASKED: tl.constexpr, BF16: tl.constexpr,
):  # fmt: skip
    """Count, mean and sum of squares of the kept keys in one chunk of a head; the keys, if few.

    Keys are relative to the head's first kept key, the origin: equal keys then give exact zeros.
    """
    head, part = tl.program_id(0), tl.program_id(1)
    parts = tl.num_programs(1)
    batch, head_of = (head // heads).to(tl.int64), (head % heads).to(tl.int64)
    key += batch * key_batch + head_of * key_head
    columns = tl.arange(0, BLOCK)
    origin_at = key
    whole, slot = length, part * chunk  # how many keys are kept, and how many before this chunk
    if MASKED:
        keep += batch * keep_batch
        firsts = tl.full((_SCANNED,), length, tl.int32)
        counted = tl.zeros((_SCANNED,), tl.int32)
        before = tl.zeros((_SCANNED,), tl.int32)
        for row in range(0, length, _SCANNED):
            positions = row + tl.arange(0, _SCANNED)
            kept = _kept(keep, positions, length, MASKED)
            firsts = tl.minimum(firsts, tl.where(kept, positions, length))
            counted += kept.to(tl.int32)
            before += (kept & (positions < part * chunk)).to(tl.int32)
        origin_at += tl.minimum(tl.min(firsts, 0), length - 1).to(tl.int64) * key_row
        whole, slot = tl.sum(counted, 0), tl.sum(before, 0)
    at_origin = tl.load(origin_at + columns, mask=columns < width, other=0.0).to(tl.float32)
    end = tl.minimum((part + 1) * chunk, length)
    sums = tl.zeros((ROWS, BLOCK), tl.float32)
    counts = tl.zeros((ROWS,), tl.float32)
    few += head.to(tl.int64) * width * width
    for row in range(part * chunk, end, ROWS):
        kept = _kept(keep, row + tl.arange(0, ROWS), end, MASKED)
        keys = _load_rows(key, key_row, row, end, width, BLOCK, ROWS).to(tl.float32)
        shifted = tl.where(kept[:, None], keys - at_origin[None, :], 0.0)  # (ROWS, BLOCK)
        sums += shifted
        counts += kept.to(tl.float32)
        if whole <= width:
            slots = slot + tl.cumsum(kept.to(tl.int32), 0) - 1  # (ROWS,)
            at = few + slots[:, None] * width + columns[None, :]  # (ROWS, BLOCK)
            tl.store(at, shifted, mask=kept[:, None] & (columns < width)[None, :])
            slot += tl.sum(kept.to(tl.int32), 0)
    number = tl.sum(counts, 0)
    middle = tl.sum(sums, 0) / tl.maximum(number, 1.0)  # (BLOCK,)
    result = tl.zeros((BLOCK, BLOCK), tl.float32)
    crossed = tl.zeros((BLOCK, BLOCK), tl.float32)
    for row in range(part * chunk, end, ROWS):
        kept = _kept(keep, row + tl.arange(0, ROWS), end, MASKED)
        keys = _load_rows(key, key_row, row, end, width, BLOCK, ROWS).to(tl.float32)
        centred = tl.where(kept[:, None], (keys - at_origin[None, :]) - middle[None, :], 0.0)
        if BF16:
            large = centred.to(tl.bfloat16)
            small = (centred - large.to(tl.float32)).to(tl.bfloat16)
            result = _dot(tl.trans(large), large, result)
            result = _dot(tl.trans(small), small, result)
            crossed = _dot(tl.trans(large), small, crossed)
        else:
            result = tl.dot(tl.trans(centred), centred, result, input_precision="tf32x3")
    if BF16:
        result += crossed + tl.trans(crossed)
    place = (head * parts + part).to(tl.int64)
    head = head.to(tl.int64)
    tl.store(origin + head * width + columns, at_origin, mask=columns < width)
    tl.store(shift + place * width + columns, middle, mask=columns < width)
    _store_square(squares + place * width * width, width, result, BLOCK)
    tl.store(count + place, number)


@triton.jit
def rescale_queries(
    query, origin, shift, squares, count, few, scaled, factor, mean, covariance, total,
    query_batch, query_head, query_row,
    scaled_batch, scaled_head, scaled_row,
    heads, length, width, cap, key_parts,
    BLOCK: tl.constexpr, ROWS: tl.constexpr, HALF: tl.constexpr, BF16: tl.constexpr,
):  # fmt: skip
    """q / min(sigma, gamma) of every n-th block of a head's queries; sums the keys' chunks."""
    head, part = tl.program_id(0), tl.program_id(1)
    parts = tl.num_programs(1)
    batch, head_of = (head // heads).to(tl.int64), (head % heads).to(tl.int64)
    query += batch * query_batch + head_of * query_head
    scaled += batch * scaled_batch + head_of * scaled_head
    factor += head.to(tl.int64) * length
    columns = tl.arange(0, BLOCK)
    inside = columns < width
    head = head.to(tl.int64)
    first = head * key_parts
    number = tl.full((), 0.0, tl.float32)
    middle = tl.zeros((BLOCK,), tl.float32)
    for chunk in range(key_parts):
        here = tl.load(count + first + chunk)
        at = shift + (first + chunk) * width + columns
        middle += here * tl.load(at, mask=inside, other=0.0)
        number += here
    found, number = number, tl.maximum(number, 1.0)
    middle = middle / number  # (BLOCK,)
    matrix = tl.zeros((BLOCK, BLOCK), tl.float32)
    for chunk in range(key_parts):
        here = tl.load(count + first + chunk)
        at = shift + (first + chunk) * width + columns
        off = tl.where(inside, tl.load(at, mask=inside, other=0.0) - middle, 0.0)
        matrix += _load_square(squares + (first + chunk) * width * width, width, BLOCK)
        matrix += here * off[:, None] * off[None, :]
    matrix = matrix / number  # (BLOCK, BLOCK)
    if part == 0:
        at_origin = tl.load(origin + head * width + columns, mask=inside, other=0.0)
        tl.store(mean + head * width + columns, at_origin + middle, mask=inside)
        _store_square(covariance + head * width * width, width, matrix, BLOCK)
        tl.store(total + head, number)
    are_few = number <= width
    are_two = are_few & (number == 2)
    few += head * width * width
    half = tl.zeros((BLOCK,), tl.float32)  # of the difference of two keys
    if are_few:
        slots = columns[None, :]
        kept = inside[:, None] & (slots < found)  # (BLOCK, BLOCK)
        keys = tl.load(few + slots * width + columns[:, None], mask=kept, other=0.0)
        matrix = tl.where(kept, keys - middle[:, None], 0.0) / tl.sqrt(number)  # (BLOCK, BLOCK)
        half = tl.load(few + columns, mask=inside, other=0.0) - middle  # (BLOCK,)
    large = matrix.to(tl.bfloat16)
    small = (matrix - large.to(tl.float32)).to(tl.bfloat16)
    for row in range(part * ROWS, length, parts * ROWS):
        loaded = _load_rows(query, query_row, row, length, width, BLOCK, ROWS)  # (ROWS, BLOCK)
        queries = loaded.to(tl.float32)
        if BF16:
            product = _dot_of_two(loaded, large, small)  # (ROWS, BLOCK)
        else:
            product = tl.dot(queries, matrix, input_precision="ieee")  # (ROWS, BLOCK)
        variance = tl.sum(product * tl.where(are_few, product, queries), 1)  # (ROWS,)
        capped = tl.minimum(tl.maximum(variance, _FLOOR), cap * cap)  # (ROWS,)
        factors = tl.where(variance > _FLOOR, 1.0 / tl.sqrt(capped), 0.0)  # (ROWS,)
        result = queries * factors[:, None]  # (ROWS, BLOCK)
        if are_two:  # below the cap their scores are +1 and -1
            score = tl.sum(queries * half[None, :], 1)  # (ROWS,)
            along = half / tl.maximum(tl.sum(half * half, 0), _TINY)  # (BLOCK,), its score is 1
            is_sign = (factors > 0) & (variance < cap * cap)  # (ROWS,)
            signs = tl.where(score < 0, -1.0, 1.0)[:, None] * along[None, :]  # (ROWS, BLOCK)
            result = tl.where(is_sign[:, None], signs, result)  # (ROWS, BLOCK)
        if HALF:
            limited = tl.minimum(tl.maximum(result, -_HALF_LIMIT), _HALF_LIMIT)
            result = tl.where(result == result, limited, result)  # NaN stays NaN
        _store_rows(scaled, scaled_row, row, length, width, result, BLOCK, ROWS)
        positions = row + tl.arange(0, ROWS)
        signed = tl.where(variance < cap * cap, factors, -factors)
        tl.store(factor + positions, signed, mask=positions < length)


@triton.jit
def query_gradients(
    of_scaled, scaled, factor, covariance, total, of_query, of_covariance,
    gradient_batch, gradient_head, gradient_row,
    scaled_batch, scaled_head, scaled_row,
    result_batch, result_head, result_row,
    heads, length, width,
    BLOCK: tl.constexpr, ROWS: tl.constexpr, BF16: tl.constexpr,
):  # fmt: skip
    """The gradient of every n-th block of a head's queries, and their part of C's gradient."""
    head, part = tl.program_id(0), tl.program_id(1)
    parts = tl.num_programs(1)
    batch, head_of = (head // heads).to(tl.int64), (head % heads).to(tl.int64)
    of_scaled += batch * gradient_batch + head_of * gradient_head
    scaled += batch * scaled_batch + head_of * scaled_head
    of_query += batch * result_batch + head_of * result_head
    head = head.to(tl.int64)
    factor += head * length
    matrix = _load_square(covariance + head * width * width, width, BLOCK)  # (BLOCK, BLOCK)
    large = matrix.to(tl.bfloat16)
    small = (matrix - large.to(tl.float32)).to(tl.bfloat16)
    are_two = tl.load(total + head) == 2
    share = tl.zeros((BLOCK, BLOCK), tl.float32)
    for row in range(part * ROWS, length, parts * ROWS):
        positions = row + tl.arange(0, ROWS)
        loaded = _load_rows(scaled, scaled_row, row, length, width, BLOCK, ROWS)
        queries = loaded.to(tl.float32)  # (ROWS, BLOCK)
        gradient = _load_rows(of_scaled, gradient_row, row, length, width, BLOCK, ROWS)
        gradient = gradient.to(tl.float32)  # (ROWS, BLOCK)
        factors = tl.load(factor + positions, mask=positions < length, other=0.0)  # (ROWS,)
        along = tl.where(factors > 0, tl.sum(gradient * queries, 1), 0.0)[:, None]  # (ROWS, 1)
        weighted = -along * queries  # (ROWS, BLOCK)
        if BF16:
            product = _dot_of_two(loaded, large, small)  # (ROWS, BLOCK)
            share = _dot(tl.trans(weighted.to(tl.bfloat16)), loaded, share)
        else:
            product = tl.dot(queries, matrix, input_precision="ieee")  # (ROWS, BLOCK)
            share = tl.dot(tl.trans(weighted), queries, share, input_precision="ieee")
        slopes = tl.abs(factors)  # (ROWS,)
        if are_two:  # below the cap their scores do not change with the query
            slopes = tl.where(factors > 0, 0.0, slopes)
        result = (gradient - along * product) * slopes[:, None]  # (ROWS, BLOCK)
        _store_rows(of_query, result_row, row, length, width, result, BLOCK, ROWS)
    place = (head * parts + part) * width * width
    _store_square(of_covariance + place, width, share, BLOCK)


@triton.jit
def key_gradients(
    of_key, key, keep, mean, total, of_covariance, result,
    gradient_batch, gradient_head, gradient_row,
    key_batch, key_head, key_row,
    result_batch, result_head, result_row,
    keep_batch,
    heads, length, width, query_parts,
    BLOCK: tl.constexpr, ROWS: tl.constexpr, MASKED: tl.constexpr, BF16: tl.constexpr,
):  # fmt: skip
    """The gradient of every n-th block of keys: that of attention plus that through C."""
    head, part = tl.program_id(0), tl.program_id(1)
    parts = tl.num_programs(1)
    batch, head_of = (head // heads).to(tl.int64), (head % heads).to(tl.int64)
    of_key += batch * gradient_batch + head_of * gradient_head
    key += batch * key_batch + head_of * key_head
    result += batch * result_batch + head_of * result_head
    if MASKED:
        keep += batch * keep_batch
    columns = tl.arange(0, BLOCK)
    head = head.to(tl.int64)
    of_covariance += head * query_parts * width * width
    matrix = tl.zeros((BLOCK, BLOCK), tl.float32)
    for share in range(query_parts):
        matrix += _load_square(of_covariance + share * width * width, width, BLOCK)
    matrix = matrix / tl.load(total + head)  # (BLOCK, BLOCK)
    large = matrix.to(tl.bfloat16)
    small = (matrix - large.to(tl.float32)).to(tl.bfloat16)
    middle = tl.load(mean + head * width + columns, mask=columns < width, other=0.0)  # (BLOCK,)
    for row in range(part * ROWS, length, parts * ROWS):
        kept = _kept(keep, row + tl.arange(0, ROWS), length, MASKED)
        keys = _load_rows(key, key_row, row, length, width, BLOCK, ROWS).to(tl.float32)
        centred = tl.where(kept[:, None], keys - middle[None, :], 0.0)  # (ROWS, BLOCK)
        if BF16:
            rounded = centred.to(tl.bfloat16)
            added = _dot_of_two(rounded, large, small)  # (ROWS, BLOCK)
        else:
            added = tl.dot(centred, matrix, input_precision="ieee")  # (ROWS, BLOCK)
        gradient = _load_rows(of_key, gradient_row, row, length, width, BLOCK, ROWS)
        sum_of_both = gradient.to(tl.float32) + added  # (ROWS, BLOCK)
        _store_rows(result, result_row, row, length, width, sum_of_both, BLOCK, ROWS)


@triton.jit
def _dot(left, right, sums):
    """The product of bfloat16 matrices, added to float32 sums."""
    if (
        _IS_INTERPRETED
    ):  # Triton's interpreter multiplies the bits of bfloat16 as if they were integers
        left, right = left.to(tl.float32), right.to(tl.float32)
    return tl.dot(left, right, sums)


@triton.jit
def _dot_of_two(left, large, small):
    """The product with a float32 matrix in two bfloat16 parts."""
    sums = tl.zeros((left.shape[0], large.shape[1]), tl.float32)
    return _dot(left, large, _dot(left, small, sums))


@triton.jit
def _kept(keep, positions, end, MASKED: tl.constexpr):
    kept = positions < end
    if MASKED:
        kept = kept & (tl.load(keep + positions, mask=kept, other=0) != 0)
    return kept


@triton.jit
def _load_rows(pointer, stride, first, end, width, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    """`ROWS` rows from `first` on; zeros beyond the end and beyond the width."""
    rows, columns = first + tl.arange(0, ROWS), tl.arange(0, BLOCK)
    inside = (rows < end)[:, None] & (columns < width)[None, :]
    at = pointer + rows[:, None].to(tl.int64) * stride + columns[None, :]
    return tl.load(at, mask=inside, other=0.0)  # (ROWS, BLOCK)


@triton.jit
def _store_rows(
    pointer, stride, first, end, width, values, BLOCK: tl.constexpr, ROWS: tl.constexpr
):
    rows, columns = first + tl.arange(0, ROWS), tl.arange(0, BLOCK)
    inside = (rows < end)[:, None] & (columns < width)[None, :]
    at = pointer + rows[:, None].to(tl.int64) * stride + columns[None, :]
    tl.store(at, values.to(pointer.dtype.element_ty), mask=inside)


@triton.jit
def _load_square(pointer, width, BLOCK: tl.constexpr):
    rows, columns = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    inside = (rows < width) & (columns < width)
    return tl.load(pointer + rows * width + columns, mask=inside, other=0.0)  # (BLOCK, BLOCK)


@triton.jit
def _store_square(pointer, width, values, BLOCK: tl.constexpr):
    rows, columns = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    tl.store(pointer + rows * width + columns, values, mask=(rows < width) & (columns < width))
