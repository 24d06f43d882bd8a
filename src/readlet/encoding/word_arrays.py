"""Batches of words in NumPy: questions and contexts as indices into the batch's distinct forms."""

import math
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from readlet.encoding.batches import Arrays, Batch, Batches, Shape, padded
from readlet.encoding.features import NULL_FORM, PADDING_FORM, Features
from readlet.encoding.rows import Ints
from readlet.encoding.windows import Windows

PADDING = 0
"""The index of padding among a batch's forms."""

# Padded lengths. All but one question in a thousand have at most 32 words.
_CONTEXT_LENGTHS = (64, 96, 128, 160, 192, 224, 256, 320)
_QUESTION_LENGTH = 32
_LENGTH_MULTIPLE = 16  # fused attention is slow at other lengths, and compiled again for them
# The array of a batch's distinct forms is padded to thirds of the number of places: few sizes, and
# mostly one per shape. A batch of 32 SQuAD questions repeats every form three times, one of 128
# five times.
_FORM_SIZES = 3


def shapes(windows: Windows, *, null: bool, languages: Iterable[str] = ()) -> list[Shape]:
    """Lengths of context and question, smallest first; every row fits into the last one."""
    longest = _rounded(windows.max_context + null)
    usual, finer = _rounded(windows.max_question), _rounded(windows.longest_question(languages))
    question = min(_QUESTION_LENGTH, usual)
    listed: list[Shape] = [(length, question) for length in _CONTEXT_LENGTHS if length < longest]
    listed += [(longest, length) for length in sorted({question, usual, finer})]
    return listed


def _rounded(length: int) -> int:
    return -(-length // _LENGTH_MULTIPLE) * _LENGTH_MULTIPLE


def in_batches(
    features: Features,
    listed: list[Shape],
    batch_size: int,
    collate: Callable[[Shape, Ints, int], Batch],
    *,
    null: bool,
    seed: int = 0,
) -> Batches[Batch]:
    """Batches of these shapes; with `null`, every context begins with the null place."""
    lengths = np.stack(
        [features.row_window[:, 1] + null, features.row_question[:, 1]], axis=1
    )  # (rows, 2)
    return Batches(
        lengths,
        listed,
        batch_size,
        collate,
        trainable=features.trainable(can_refuse=null),
        # A first and a last word, each of as many as the longest shape has.
        guessing=2 * math.log(max(context for context, _ in listed)),
        seed=seed,
    )


def word_arrays(features: Features, null: bool, shape: Shape, rows: Ints, size: int) -> Arrays:
    """`forms` (U,), `context` (B, Lc) and `question` (B, Lq): see `WordBatch`."""
    context_length, question_length = shape
    words = size, context_length - null
    context = padded(features.forms, features.row_window[rows], words)  # (B, Lc - null) forms
    if null:
        place = np.zeros((size, 1), np.int32)  # (B, 1)
        place[: len(rows)] = NULL_FORM
        context = np.concatenate([place, context], axis=1)  # (B, Lc)
    question = padded(features.forms, features.row_question[rows], (size, question_length))
    texts = np.concatenate([context, question], axis=1)  # (B, Lc + Lq)
    forms, places = _distinct(texts)  # (U,), (B, Lc + Lq)
    context, question = np.split(places, [context_length], axis=1)  # (B, Lc), (B, Lq)
    return {"forms": forms, "context": context, "question": question}


def _distinct(texts: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The distinct forms of the texts, padding first, and the texts as indices into them."""
    found, places = np.unique(texts, return_inverse=True)
    if found[0] != PADDING_FORM:
        found, places = np.insert(found, 0, PADDING_FORM), places + 1
    step = -(-(texts.size + 1) // _FORM_SIZES)  # one more: padding may not be in the texts
    forms = np.full(-(-len(found) // step) * step, PADDING_FORM, np.int32)
    forms[: len(found)] = found
    return forms, places.reshape(texts.shape).astype(np.int32)
