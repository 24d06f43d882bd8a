"""Rows to batches of few, fixed shapes, so that a compiled step is reused and little is padded."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from readlet.encoding.features import NO_LABEL, NULL_FORM, PADDING_FORM, Features, Ints

PADDING = 0
"""The place of padding among a batch's forms."""

# Padded lengths. 32 words hold all but one question in a thousand.
_CONTEXT_LENGTHS = (64, 96, 128, 160, 192, 224, 256, 320)
_QUESTION_LENGTH = 32
_STEP_OF_LENGTH = 16  # fused attention is slow at odd lengths, and compiled again for them
# The room for a batch's distinct forms grows in thirds of its places: few sizes, one a shape for
# most data. A batch of 32 SQuAD questions repeats every form three times, one of 128 five times.
_STEPS_OF_ROOM = 3


class Shape(NamedTuple):
    context: int
    question: int


@dataclass(frozen=True)
class Batch:
    """Texts as places in a list of distinct forms: what depends on the form is made once for each.

    Place 0 is padding. Filler rows (see `Batches.make`) have weight 0 and row -1.
    """

    rows: Tensor  # (B,) row of the features
    forms: Tensor  # (U,) distinct forms, padded at the end
    context: Tensor  # (B, Lc) places in `forms`
    question: Tensor  # (B, Lq) places in `forms`
    labels: Tensor  # (B, 2) first and last word of the answer
    weight: Tensor  # (B,) share in the loss; the weights of a whole batch sum to 1

    def to(self, device: torch.device) -> "Batch":
        tensors = vars(self)
        if device.type == "cuda":  # from pageable memory a copy would wait for the last step
            tensors = {name: t.pin_memory() for name, t in tensors.items()}
        moved = {name: t.to(device, non_blocking=True) for name, t in tensors.items()}
        return replace(self, **moved)

    def part(self, index: int, parts: int) -> "Batch":
        """Every `parts`-th row: what one of several processes works on.

        The processes' gradients are averaged, so each part's weights grow by their number.
        """
        rows = {name: t[index::parts] for name, t in vars(self).items() if name != "forms"}
        return replace(self, **rows | {"weight": rows["weight"] * parts})


class FormTables(torch.nn.Module):
    """What the model reads for each form. It moves to the device with `.to`, like any module."""

    words: Tensor
    characters: Tensor
    keys: Tensor
    # What a model makes of the characters, (F, C): given once for all batches while answering.
    character_vectors: Tensor | None = None

    def __init__(self, features: Features) -> None:
        super().__init__()
        self.register_buffer("words", torch.from_numpy(features.form_words))  # (F,)
        self.register_buffer("characters", torch.from_numpy(features.form_characters))  # (F, W)
        self.register_buffer("keys", torch.from_numpy(features.form_keys))  # (F,)


def shapes(max_context: int, max_question: int, *, null: bool) -> list[Shape]:
    """Smallest first; the last one holds every row."""
    longest, longest_question = _rounded(max_context + null), _rounded(max_question)
    question = min(_QUESTION_LENGTH, longest_question)
    listed = [Shape(length, question) for length in _CONTEXT_LENGTHS if length < longest]
    listed.append(Shape(longest, question))
    if question < longest_question:
        listed.append(Shape(longest, longest_question))
    return listed


def _rounded(length: int) -> int:
    return -(-length // _STEP_OF_LENGTH) * _STEP_OF_LENGTH


class Batches:
    """Batches of a data set, in a shuffled order that depends on seed and epoch only."""

    def __init__(
        self, features: Features, shapes: list[Shape], batch_size: int, *, null: bool, seed: int = 0
    ) -> None:
        self.features = features
        self.shapes = shapes
        self.batch_size = batch_size
        self.null = null
        self.seed = seed
        self._shape_of_row = self._assign()

    def training_rows(self) -> Ints:
        """Rows with something to learn: a label, or no answer where there is a place for that."""
        labelled = self.features.row_label[:, 0] != NO_LABEL
        return np.flatnonzero(labelled | (self.features.row_impossible & self.null)).astype(
            np.int32
        )

    def epoch(self, number: int) -> list[tuple[Shape, Ints]]:
        """The batches of an epoch: rows of one shape each, full but for the last of a shape."""
        generator = np.random.default_rng((self.seed, number))
        rows = generator.permutation(self.training_rows())
        batches = self._cut(rows)
        return [batches[i] for i in generator.permutation(len(batches))]

    def in_order(self) -> list[tuple[Shape, Ints]]:
        """All rows, for prediction; long ones first, so that memory runs out early or never."""
        return self._cut(np.arange(len(self.features), dtype=np.int32))[::-1]

    def make(self, shape: Shape, rows: Ints) -> Batch:
        """Look the rows up. A short batch is filled up with empty rows: the shape never changes."""
        f, size = self.features, self.batch_size
        context = np.zeros((size, shape.context), np.int32)  # (B, Lc) forms
        question = np.zeros((size, shape.question), np.int32)  # (B, Lq) forms
        for i, row in enumerate(rows):
            first, length = f.row_window[row]
            start = f.text_starts[f.row_context[row]] + first
            context[i, self.null : self.null + length] = f.forms[start : start + length]
            start = f.text_starts[f.row_question[row]]
            asked = f.row_asked[row]
            question[i, :asked] = f.forms[start : start + asked]
        if self.null:
            context[: len(rows), 0] = NULL_FORM
        labels = np.zeros((size, 2), np.int64)  # (B, 2)
        # With a null place, no answer is the label (0, 0) and all words move by one.
        labels[: len(rows)] = np.maximum(f.row_label[rows] + self.null, 0)
        weight = np.zeros(size, np.float32)  # (B,)
        weight[: len(rows)] = 1.0 / len(rows)
        numbers = np.full(size, -1, np.int64)  # (B,)
        numbers[: len(rows)] = rows
        texts = np.concatenate([context, question], axis=1)  # (B, Lc + Lq)
        forms, places = _distinct(texts)  # (U,), (B, Lc + Lq)
        context, question = np.split(places, [shape.context], axis=1)  # (B, Lc), (B, Lq)
        arrays = (numbers, forms, context, question, labels, weight)
        return Batch(*(torch.from_numpy(array) for array in arrays))

    def __iter__(self) -> Iterator[Batch]:
        return (self.make(shape, rows) for shape, rows in self.in_order())

    def _assign(self) -> NDArray[np.int64]:
        contexts = self.features.row_window[:, 1] + self.null  # (rows,)
        fits = np.stack(
            [(contexts <= s.context) & (self.features.row_asked <= s.question) for s in self.shapes]
        )  # (shapes, rows)
        first: NDArray[np.int64] = np.argmax(fits, axis=0)  # (rows,)
        return first

    def _cut(self, rows: Ints) -> list[tuple[Shape, Ints]]:
        cut = []
        for number, shape in enumerate(self.shapes):
            members = rows[self._shape_of_row[rows] == number]
            for start in range(0, len(members), self.batch_size):
                cut.append((shape, members[start : start + self.batch_size]))  # noqa: PERF401
        return cut


def _distinct(texts: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The forms of the texts, each once, padding first; and the texts as places among them."""
    found, places = np.unique(texts, return_inverse=True)
    if found[0] != PADDING_FORM:
        found, places = np.insert(found, 0, PADDING_FORM), places + 1
    step = -(-(texts.size + 1) // _STEPS_OF_ROOM)  # one more: padding may not be in the texts
    forms = np.full(-(-len(found) // step) * step, PADDING_FORM, np.int32)
    forms[: len(found)] = found
    return forms, places.reshape(texts.shape).astype(np.int32)
