"""Batches of words as tensors, and the tables of a data set's forms."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import torch
from torch import Tensor

from readlet.encoding.batches import Batches, Shape
from readlet.encoding.features import Features
from readlet.encoding.row_batches import RowBatch, as_tensors, row_tensors
from readlet.encoding.rows import Ints
from readlet.encoding.word_arrays import in_batches, word_arrays


@dataclass(frozen=True)
class WordBatch(RowBatch):
    """Texts as indices into the distinct forms, so that each form is embedded once.

    Index 0 is padding. With a null place, the context begins with a special form for "no answer".
    Labels count words only, not the null place.
    """

    forms: Tensor  # (U,) distinct forms, padded at the end
    context: Tensor  # (B, Lc) indices into `forms`
    question: Tensor  # (B, Lq) indices into `forms`

    def part(self, index: int, parts: int) -> Self:
        return replace(super().part(index, parts), forms=self.forms)


class FormTables(torch.nn.Module):
    """The model's inputs for each form. It moves to the device with `.to`, like any module."""

    words: Tensor
    characters: Tensor
    languages: Tensor
    keys: Tensor
    # The model's vectors of the characters, (F, C): computed once for all batches at inference.
    character_vectors: Tensor | None = None

    def __init__(self, features: Features) -> None:
        super().__init__()
        self.register_buffer("words", torch.from_numpy(features.form_words))  # (F,)
        self.register_buffer("characters", torch.from_numpy(features.form_characters))  # (F, W)
        self.register_buffer("languages", torch.from_numpy(features.form_languages))  # (F,)
        self.register_buffer("keys", torch.from_numpy(features.form_keys))  # (F,)


def word_batches(
    features: Features, listed: list[Shape], batch_size: int, *, null: bool, seed: int = 0
) -> Batches[WordBatch]:
    """Batches of these shapes; with `null`, every context begins with the null place."""
    collate = partial(_collate, features, null)
    return in_batches(features, listed, batch_size, collate, null=null, seed=seed)


def _collate(features: Features, null: bool, shape: Shape, rows: Ints, size: int) -> WordBatch:
    arrays = word_arrays(features, null, shape, rows, size)
    return WordBatch(**row_tensors(features, rows, size), **as_tensors(arrays))
