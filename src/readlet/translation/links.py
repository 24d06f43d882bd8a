"""From a model's attention between pieces to links between words, in characters."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from readlet.encoding.words import word_spans
from readlet.translation.types import Link, Range


def links_from_attention(
    attention: NDArray[np.float32],
    source: str,
    source_pieces: Sequence[Range],
    target: str,
    target_pieces: Sequence[Range],
) -> tuple[Link, ...]:
    """For each word of the translation, the word of the source that it attends to most.

    `attention` has a row for each piece of the translation, a column for each of the source.
    """
    source_words, target_words = word_spans(source), word_spans(target)
    if not source_words or not target_words:
        return ()
    columns = _membership(source_words, len(source), source_pieces)  # (pieces, words)
    rows = _membership(target_words, len(target), target_pieces)  # (pieces, words)
    weights = rows.T @ attention @ columns  # (target words, source words)
    best = weights.argmax(axis=1)  # (target words,)
    return tuple(
        Link(source_words[column], word)
        for word, column, weight in zip(target_words, best, weights, strict=True)
        if weight[column] > 0
    )


def _membership(
    words: Sequence[Range], length: int, pieces: Sequence[Range]
) -> NDArray[np.float32]:
    """Which share of a piece belongs to which word; a piece of white space belongs to none."""
    word_of = np.full(length, -1)  # (characters,)
    for number, (start, end) in enumerate(words):
        word_of[start:end] = number
    table = np.zeros((len(pieces), len(words)), np.float32)  # (pieces, words)
    for number, (start, end) in enumerate(pieces):
        inside = word_of[start:end]  # (characters of the piece,)
        inside = inside[inside >= 0]  # (characters of words,)
        np.add.at(table[number], inside, 1 / max(1, len(inside)))
    return table
