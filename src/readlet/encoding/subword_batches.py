"""Batches of subwords as tensors."""

from dataclasses import dataclass
from functools import partial

from torch import Tensor

from readlet.encoding.batches import Batches, Shape
from readlet.encoding.row_batches import RowBatch, as_tensors, row_tensors
from readlet.encoding.rows import Ints
from readlet.encoding.subword_arrays import in_batches, subword_arrays
from readlet.encoding.subwords import Layout, SubwordEncoder, SubwordRows


@dataclass(frozen=True)
class SubwordBatch(RowBatch):
    """Places of the context are counted from `first`; labels count places."""

    tokens: Tensor  # (B, T)
    types: Tensor  # (B, T) 0 and 1: the token types of question and context
    keep: Tensor  # (B, T) bool: no padding
    first: Tensor  # (B,) index of the context's first token
    allowed: Tensor  # (B, T) bool, by places: may be part of an answer


def subword_batches(
    rows: SubwordRows, encoder: SubwordEncoder, batch_size: int, *, null: bool, seed: int = 0
) -> Batches[SubwordBatch]:
    """Batches of a few lengths; every row fits into the longest one."""
    collate = partial(_collate, rows, encoder.layout)
    return in_batches(rows, encoder, batch_size, collate, null=null, seed=seed)


def _collate(
    rows: SubwordRows, layout: Layout, shape: Shape, numbers: Ints, size: int
) -> SubwordBatch:
    arrays = subword_arrays(rows, layout, shape, numbers, size)
    return SubwordBatch(**row_tensors(rows, numbers, size), **as_tensors(arrays))
