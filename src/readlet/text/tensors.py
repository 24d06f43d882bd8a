"""Batches of rows as tensors, and the tables of a data set's forms."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Self, TypeVar

import numpy as np
import torch
from torch import Tensor

from readlet.text.arrays import (
    Arrays,
    Batches,
    Shape,
    sentence_batches_of,
    subword_batches_of,
    word_batches_of,
)
from readlet.text.rows import NO_LABEL, AnyRows, Ints
from readlet.text.subwords import SentenceEncoder, SentenceRows, SubwordEncoder, SubwordRows
from readlet.text.word_features import Features

Batch = TypeVar("Batch", bound="RowBatch")


@dataclass(frozen=True)
class RowBatch:
    """Some rows as tensors; a model adds its own inputs. Filler rows have weight 0 and row -1."""

    rows: Tensor  # (B,) row numbers
    labels: Tensor  # (B, 2) first and last position of the answer; (B,) class or value; -1: none
    weight: Tensor  # (B,) share in the loss; the weights of a whole batch sum to 1

    def to(self, device: torch.device) -> Self:
        tensors = vars(self)
        if device.type == "cuda":  # a copy from pageable memory would block on the previous step
            tensors = {name: t.pin_memory() for name, t in tensors.items()}
        moved = {name: t.to(device, non_blocking=True) for name, t in tensors.items()}
        return replace(self, **moved)

    def part(self, index: int, parts: int) -> Self:
        """Every `parts`-th row: the share of one of several processes.

        Gradients are averaged over the processes, so the weights are multiplied by their number.
        """
        rows = {name: t[index::parts] for name, t in vars(self).items()}
        return replace(self, **rows | {"weight": rows["weight"] * parts})


def row_tensors(rows: AnyRows, numbers: Ints, size: int) -> dict[str, Tensor]:
    """The fields of a `RowBatch` of `size` rows, of which the last ones may be fillers."""
    count = len(numbers)
    known = rows.row_label[numbers]  # (count, ...)
    dtype = np.int64 if known.dtype.kind == "i" else np.float32
    labels = np.full((size, *known.shape[1:]), NO_LABEL, dtype)  # (B, ...)
    labels[:count] = known
    weight = np.zeros(size, np.float32)  # (B,)
    weight[:count] = 1.0 / count
    listed = np.full(size, -1, np.int64)  # (B,)
    listed[:count] = numbers
    arrays = {"rows": listed, "labels": labels, "weight": weight}
    return as_tensors(arrays)


def as_tensors(arrays: Arrays) -> dict[str, Tensor]:
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def _batch(kind: type[Batch], rows: AnyRows, numbers: Ints, size: int, arrays: Arrays) -> Batch:
    return kind(**row_tensors(rows, numbers, size), **as_tensors(arrays))


@dataclass(frozen=True)
class WordBatch(RowBatch):
    """Texts as indices into the distinct forms, so that each form is embedded once.

    Index 0 is padding. With a null position, contexts start with a special form for "no answer".
    Labels count words only, not the null position.
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
    """Batches of these shapes; with `null`, every context begins with the null position."""
    make = partial(_batch, WordBatch, features)
    return word_batches_of(features, listed, batch_size, make, null=null, seed=seed)


@dataclass(frozen=True)
class SubwordBatch(RowBatch):
    """Positions of the context are counted from `first`; labels count positions."""

    tokens: Tensor  # (B, T)
    types: Tensor  # (B, T) 0 and 1: the token types of question and context
    keep: Tensor  # (B, T) bool: no padding
    first: Tensor  # (B,) index of the context's first token
    allowed: Tensor  # (B, T) bool, by places: may be part of an answer


def subword_batches(
    rows: SubwordRows, encoder: SubwordEncoder, batch_size: int, *, null: bool, seed: int = 0
) -> Batches[SubwordBatch]:
    """Batches of a few lengths; every row fits into the longest one."""
    make = partial(_batch, SubwordBatch, rows)
    return subword_batches_of(rows, encoder, batch_size, make, null=null, seed=seed)


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
    make = partial(_batch, SentenceBatch, rows)
    return sentence_batches_of(rows, encoder, batch_size, make, seed=seed)
