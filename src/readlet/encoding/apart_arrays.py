"""Batches in NumPy for a reader whose first layers read question and passage apart.

The question is [CLS] question [SEP], the passage is window [SEP], each padded on its own. So what
those layers make of a passage does not depend on the question, and can be kept.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from readlet.encoding.batches import Arrays, Batch, Batches, Shape
from readlet.encoding.pretrained import usable_positions
from readlet.encoding.rows import Ints
from readlet.encoding.subword_arrays import LENGTH_MULTIPLE, LENGTHS, allowed_places, joined
from readlet.encoding.subwords import Layout, SubwordEncoder, SubwordRows

# Nearly all questions of SQuAD have at most 30 subwords.
_SHORT_QUESTION = 32
# Long questions are rare: a few lengths of passages do for them.
_WITH_LONG_QUESTION = (128, 256)


def passage_position(encoder: SubwordEncoder) -> int:
    """The position of the passage's first token: after the longest question, whatever is asked."""
    layout = encoder.layout
    return len(layout.before) + encoder.windows.max_question + len(layout.between)


def in_batches(
    rows: SubwordRows,
    encoder: SubwordEncoder,
    batch_size: int,
    collate: Callable[[Shape, Ints, int], Batch],
    *,
    null: bool,
    seed: int = 0,
) -> Batches[Batch]:
    """Batches of a few pairs of lengths; every row fits into the last one."""
    layout, room = encoder.layout, passage_position(encoder)
    asked = rows.row_question[:, 1] + room - encoder.windows.max_question  # (rows,)
    read = rows.row_window[:, 1] + len(layout.after)  # (rows,)
    # One more: without any padding there would be no mask, and layers are compiled for one.
    longest = _rounded(encoder.windows.max_context + len(layout.after) + 1)
    longest = min(longest, (usable_positions(encoder.config) or room + longest) - room)
    passages = [length for length in LENGTHS if length < longest]
    shapes = [(_SHORT_QUESTION, length) for length in (*passages, longest)]
    if room > _SHORT_QUESTION:
        few = [length for length in passages if length in _WITH_LONG_QUESTION]
        shapes += [(_rounded(room), length) for length in (*few, longest)]
    return Batches(
        np.stack([asked, read], axis=1),  # (rows, 2)
        shapes,
        batch_size,
        collate,
        trainable=rows.trainable(can_refuse=null),
        guessing=2 * math.log(longest),  # as for the other readers
        seed=seed,
    )


def apart_arrays(
    rows: SubwordRows, layout: Layout, shape: Shape, numbers: Ints, size: int
) -> Arrays:
    """The inputs of a model by name: see `ApartBatch`."""
    width, length = shape
    questions, windows = rows.row_question[numbers], rows.row_window[numbers]  # (rows, 2) each
    asked = _alone(rows.tokens, questions, layout._replace(after=()), (size, width))
    read = _alone(rows.tokens, windows, _of_passage(layout), (size, length))
    return {
        **{f"question_{name}": table for name, table in asked.items()},  # (B, Q) each
        **{f"passage_{name}": table for name, table in read.items()},  # (B, P) each
        "allowed": allowed_places(rows, windows, (size, length)),  # (B, P)
    }


def window_keys(tokens: NDArray[np.int64], keep: NDArray[np.bool_], layout: Layout) -> list[bytes]:
    """What identifies the windows of a batch, (B, P) both: their tokens."""
    counts = keep.sum(axis=1) - len(layout.after)  # (B,)
    short = tokens.astype(np.int32)  # (B, P)
    return [row[:count].tobytes() for row, count in zip(short, counts.tolist(), strict=True)]


def window_tables(keys: Sequence[bytes], layout: Layout) -> Arrays:
    """The tables `tokens`, `types` and `keep` of windows, (B, P), from what identifies them."""
    windows = [np.frombuffer(key, np.int32) for key in keys]  # (P,) each
    counts = np.array([len(window) for window in windows])  # (B,)
    pieces = np.stack([counts.cumsum() - counts, counts], axis=1).astype(np.int32)  # (B, 2)
    shape = len(keys), int(counts.max()) + len(layout.after)
    return _alone(np.concatenate(windows), pieces, _of_passage(layout), shape)


def _rounded(length: int) -> int:
    return -(-length // LENGTH_MULTIPLE) * LENGTH_MULTIPLE


def _alone(tokens: Ints, texts: Ints, layout: Layout, shape: tuple[int, int]) -> Arrays:
    return joined(tokens, texts, np.zeros_like(texts), layout, shape)


def _of_passage(layout: Layout) -> Layout:
    """The passage as a text that stands alone."""
    *_, context, after = layout.types
    types = (context, context, after, after, after)
    return layout._replace(before=(), between=layout.after, after=(), types=types)
