"""Batches of texts and pairs of texts in NumPy."""

import math
from collections.abc import Callable

import numpy as np

from readlet.encoding.batches import Arrays, Batch, Batches, Shape
from readlet.encoding.rows import NO_LABEL, Ints
from readlet.encoding.sentences import SentenceEncoder, SentenceRows
from readlet.encoding.subword_arrays import joined
from readlet.encoding.subwords import Layout

# Padded lengths, few because each is captured or compiled anew: most sentences of GLUE have at
# most 48 tokens, most pairs at most 96.
_LENGTHS = (16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024, 2048)


def in_batches(
    rows: SentenceRows,
    encoder: SentenceEncoder,
    batch_size: int,
    collate: Callable[[Shape, Ints, int], Batch],
    *,
    seed: int = 0,
) -> Batches[Batch]:
    """Batches of a few lengths; every row fits into the longest one."""
    layout, labels = encoder.layout, encoder.labels
    lengths = rows.row_text[:, 1:] + rows.row_second[:, 1:] + layout.special  # (rows, 1)
    labelled = rows.row_label != NO_LABEL  # (rows,)
    if labels.kind == "numbers":
        labelled = np.ones(len(rows), np.bool_)  # any value is a label
    return Batches(
        lengths,
        [(length,) for length in (*(n for n in _LENGTHS if n < encoder.longest), encoder.longest)],
        batch_size,
        collate,
        trainable=np.flatnonzero(labelled).astype(np.int32),
        # The variance of standardised values is 1.
        guessing=math.log(labels.outputs) if labels.kind == "classes" else 1.0,
        seed=seed,
    )


def sentence_arrays(
    rows: SentenceRows, layout: Layout, shape: Shape, numbers: Ints, size: int
) -> Arrays:
    """The inputs of a model by name: see `SentenceBatch`."""
    (width,) = shape
    texts, seconds = rows.row_text[numbers], rows.row_second[numbers]  # (rows, 2) each
    return joined(rows.tokens, texts, seconds, layout, (size, width))
