"""Distillation: a trained reader's probabilities for the training questions.

They are mapped through character offsets, so any kind of reader may teach any other: a word model
can learn from a subword model with other windows.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from readlet.encoding.rows import NO_LABEL, Ints, Rows
from readlet.models.span_loss import Teacher
from readlet.progress import track
from readlet.reading.masked import NOTHING
from readlet.reading.reader import Reader
from readlet.training.processes import is_main_process
from readlet.types import Example

Doubles = NDArray[np.float64]
_CHUNK = 2048  # questions that the teacher encodes at once: bounds the memory


class CharacterScores(NamedTuple):
    """A reader's scores of the places of one context, with their character offsets."""

    places: Ints  # (P, 2) characters, half-open
    start: Doubles  # (P,)
    end: Doubles  # (P,)


def ask_teacher(teacher: Reader, examples: Sequence[Example], rows: Rows, share: float) -> Teacher:
    """The teacher's probabilities for every row with an answer; none for the other rows."""
    of_example: defaultdict[int, list[int]] = defaultdict(list)
    for row in np.flatnonzero(rows.row_label[:, 0] != NO_LABEL).tolist():
        of_example[int(rows.row_example[row])].append(row)
    nothing = np.zeros(0, np.float16)
    start, end = [nothing] * len(rows), [nothing] * len(rows)  # of each row
    scored = scores_of(teacher, {number: examples[number] for number in of_example})
    if is_main_process():
        scored = track(scored, len(of_example), "scoring with the teacher")
    for number, scores in scored:
        for row in of_example[number]:
            start[row], end[row] = probabilities(scores, rows.places(row))
    length = torch.tensor([len(of_row) for of_row in start], dtype=torch.long)  # (rows,)
    joined = [torch.from_numpy(np.concatenate([nothing, *side])) for side in (start, end)]
    return Teacher(joined[0], joined[1], length, share)


def probabilities(
    scores: CharacterScores, places: Ints
) -> tuple[NDArray[np.float16], NDArray[np.float16]]:
    """The probability of each place as the first and as the last of the answer: (places,) each.

    Each of the teacher's places is mapped to the place that contains its first, or last,
    character. Both arrays are empty if the teacher has no places here.
    """
    theirs = scores.places
    inside = np.zeros(0, np.bool_)
    if len(places):
        inside = (theirs[:, 1] > places[0, 0]) & (theirs[:, 0] < places[-1, 1])  # (P,)
    if not inside.any():
        return np.zeros(0, np.float16), np.zeros(0, np.float16)
    # The first place that ends after the teacher's first character, and the last that begins
    # before its last one: they contain it, or are next to the gap that contains it.
    first = np.searchsorted(places[:, 1], theirs[inside, 0], side="right")  # (P',)
    last = np.searchsorted(places[:, 0], theirs[inside, 1], side="left") - 1  # (P',)
    return (
        _summed(scores.start[inside], np.minimum(first, len(places) - 1), len(places)),
        _summed(scores.end[inside], np.maximum(last, 0), len(places)),
    )


def _summed(scores: Doubles, at: Ints, count: int) -> NDArray[np.float16]:
    weights = np.exp(scores - scores.max())  # (P',)
    return np.bincount(at, weights / weights.sum(), minlength=count).astype(np.float16)


def scores_of(teacher: Reader, asked: dict[int, Example]) -> Iterator[tuple[int, CharacterScores]]:
    """The number and the scores of each question."""
    numbers = list(asked)
    for begin in range(0, len(numbers), _CHUNK):
        chunk = numbers[begin : begin + _CHUNK]
        rows = teacher.scorer.encoder.encode([asked[number] for number in chunk])
        windows: list[list[CharacterScores]] = [[] for _ in chunk]
        for listed, scores in teacher.scorer.scores(rows, teacher.rows_at_once):
            for i, row in enumerate(listed.tolist()):
                places = rows.places(row)  # (places, 2)
                allowed = np.flatnonzero(scores.allowed[i, : len(places)])  # (P,)
                found = CharacterScores(
                    places[allowed],
                    scores.start[i, allowed].astype(np.float64),
                    scores.end[i, allowed].astype(np.float64),
                )
                windows[int(rows.row_example[row])].append(found)
        for number, found_windows in zip(chunk, windows, strict=True):
            yield number, _joined(found_windows)


def _joined(windows: Sequence[CharacterScores]) -> CharacterScores:
    """Windows overlap: a place gets its highest score in any of them."""
    if len(windows) == 1:
        return windows[0]
    places, at = np.unique(
        np.concatenate([window.places for window in windows]), axis=0, return_inverse=True
    )
    start, end = np.full((2, len(places)), NOTHING)  # (P,) each
    np.maximum.at(start, at.ravel(), np.concatenate([window.start for window in windows]))
    np.maximum.at(end, at.ravel(), np.concatenate([window.end for window in windows]))
    return CharacterScores(places, start, end)
