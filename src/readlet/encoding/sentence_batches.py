"""Batches of texts and pairs of texts as tensors, for a classifier."""

from dataclasses import dataclass
from functools import partial

from torch import Tensor

from readlet.encoding.batches import Batches, Shape
from readlet.encoding.row_batches import RowBatch, as_tensors, row_tensors
from readlet.encoding.rows import Ints
from readlet.encoding.sentence_arrays import in_batches, sentence_arrays
from readlet.encoding.sentences import SentenceEncoder, SentenceRows
from readlet.encoding.subwords import Layout


@dataclass(frozen=True)
class SentenceBatch(RowBatch):
    """Labels are (B,): numbers of classes, or values."""

    tokens: Tensor  # (B, T)
    types: Tensor  # (B, T) the token types of the two texts
    keep: Tensor  # (B, T) bool: no padding


def sentence_batches(
    rows: SentenceRows, encoder: SentenceEncoder, batch_size: int, *, seed: int = 0
) -> Batches[SentenceBatch]:
    """Batches of a few lengths; every row fits into the longest one."""
    collate = partial(_collate, rows, encoder.layout)
    return in_batches(rows, encoder, batch_size, collate, seed=seed)


def _collate(
    rows: SentenceRows, layout: Layout, shape: Shape, numbers: Ints, size: int
) -> SentenceBatch:
    arrays = sentence_arrays(rows, layout, shape, numbers, size)
    return SentenceBatch(**row_tensors(rows, numbers, size), **as_tensors(arrays))
