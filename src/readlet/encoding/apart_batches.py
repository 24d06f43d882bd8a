"""Batches of questions and passages that are padded apart, as tensors."""

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from readlet.encoding.apart_arrays import apart_arrays, in_batches
from readlet.encoding.batches import Batches, Shape
from readlet.encoding.row_batches import RowBatch, as_tensors, row_tensors
from readlet.encoding.rows import Ints
from readlet.encoding.subwords import Layout, SubwordEncoder, SubwordRows


@dataclass(frozen=True)
class ApartBatch(RowBatch):
    """Places of the context are the tokens of the passage."""

    question_tokens: Tensor  # (B, Q) with the special tokens before and after the question
    question_types: Tensor  # (B, Q)
    question_keep: Tensor  # (B, Q) bool: no padding
    passage_tokens: Tensor  # (B, P) with the special tokens after the passage
    passage_types: Tensor  # (B, P)
    passage_keep: Tensor  # (B, P) bool: no padding
    allowed: Tensor  # (B, P) bool: may be part of an answer

    @property
    def tokens(self) -> Tensor:
        """Question and passage side by side, as the last layers read them: (B, Q + P)."""
        return torch.cat([self.question_tokens, self.passage_tokens], dim=1)

    @property
    def first(self) -> Tensor:
        """Index of the context's first token among them: (B,)."""
        size, width = self.question_tokens.shape
        return torch.full((size,), width)  # (B,)


def apart_batches(
    rows: SubwordRows, encoder: SubwordEncoder, batch_size: int, *, null: bool, seed: int = 0
) -> Batches[ApartBatch]:
    """Batches of a few pairs of lengths; every row fits into the last one."""
    collate = partial(_collate, rows, encoder.layout)
    return in_batches(rows, encoder, batch_size, collate, null=null, seed=seed)


def _collate(
    rows: SubwordRows, layout: Layout, shape: Shape, numbers: Ints, size: int
) -> ApartBatch:
    arrays = apart_arrays(rows, layout, shape, numbers, size)
    return ApartBatch(**row_tensors(rows, numbers, size), **as_tensors(arrays))
