"""Batches of subwords in NumPy: question and window in one sequence, with their special tokens."""

import math
from collections.abc import Callable

import numpy as np

from readlet.encoding.batches import Arrays, Batch, Batches, Shape
from readlet.encoding.pretrained import usable_positions
from readlet.encoding.rows import Ints
from readlet.encoding.subwords import Layout, SubwordEncoder, SubwordRows

# Padded lengths of question and window together. Half of SQuAD's rows have at most 160 tokens.
_LENGTHS = (64, 96, 128, 160, 192, 224, 256, 320, 384, 512, 768, 1024, 1536, 2048, 3072)
_LENGTH_MULTIPLE = 16


def in_batches(
    rows: SubwordRows,
    encoder: SubwordEncoder,
    batch_size: int,
    collate: Callable[[Shape, Ints, int], Batch],
    *,
    null: bool,
    seed: int = 0,
) -> Batches[Batch]:
    """Batches of a few lengths; every row fits into the longest one."""
    longest = -(-encoder.longest // _LENGTH_MULTIPLE) * _LENGTH_MULTIPLE
    longest = min(longest, usable_positions(encoder.config) or longest)
    lengths = (
        rows.row_window[:, 1:] + rows.row_question[:, 1:] + encoder.layout.special
    )  # (rows, 1)
    return Batches(
        lengths,
        [(length,) for length in (*(n for n in _LENGTHS if n < longest), longest)],
        batch_size,
        collate,
        trainable=rows.trainable(can_refuse=null),
        # A first and a last place, each of as many as the longest window has.
        guessing=2 * math.log(longest),
        seed=seed,
    )


def subword_arrays(
    rows: SubwordRows, layout: Layout, shape: Shape, numbers: Ints, size: int
) -> Arrays:
    """The inputs of a model by name: see `SubwordBatch`."""
    (width,) = shape
    questions, windows = rows.row_question[numbers], rows.row_window[numbers]  # (rows, 2) each
    tables = joined(rows.tokens, questions, windows, layout, (size, width))
    allowed = np.zeros((size, width), np.bool_)  # (B, T)
    first = np.zeros(size, np.int64)  # (B,)
    first[: len(numbers)] = len(layout.before) + questions[:, 1] + len(layout.between)
    for i, (begin, count) in enumerate(windows.tolist()):
        places = rows.offsets[begin : begin + count]  # (P, 2)
        allowed[i, :count] = places[:, 1] > places[:, 0]
    return tables | {"first": first, "allowed": allowed}


def joined(
    tokens: Ints, texts: Ints, others: Ints, layout: Layout, shape: tuple[int, int]
) -> Arrays:
    """Pairs of texts with their special tokens, as the tables `tokens`, `types` and `keep`, (B, T).

    A text is (first token, number of tokens). Rows beyond the last pair repeat the first one: with
    next to nothing to attend to, cuDNN's attention gives NaN gradients at some lengths.
    """
    table = np.full(shape, layout.padding, np.int64)  # (B, T)
    types = np.zeros(shape, np.int64)  # (B, T)
    keep = np.zeros(shape, np.bool_)  # (B, T)
    before, between, after = len(layout.before), len(layout.between), len(layout.after)
    table[: len(texts), :before] = layout.before
    types[: len(texts), :before] = layout.types[0]
    pairs = zip(texts.tolist(), others.tolist(), strict=True)
    for i, ((text, text_count), (other, count)) in enumerate(pairs):
        middle = before + text_count
        start = middle + between
        end = start + count
        table[i, before:middle] = tokens[text : text + text_count]
        table[i, middle:start] = layout.between
        table[i, start:end] = tokens[other : other + count]
        table[i, end : end + after] = layout.after
        types[i, before:middle] = layout.types[1]
        types[i, middle:start] = layout.types[2]
        types[i, start:end] = layout.types[3]
        types[i, end : end + after] = layout.types[4]
        keep[i, : end + after] = True
    for filled in (table, types, keep):
        filled[len(texts) :] = filled[0]
    return {"tokens": table, "types": types, "keep": keep}
