"""A reader's scores over the characters of a context, and as probabilities over other places.

So any kind of reader may teach any other: a word model can learn from a subword model with other
windows.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from readlet.reading.masked import NOTHING
from readlet.reading.reader import Reader
from readlet.text.rows import Ints
from readlet.types import Example

Doubles = NDArray[np.float64]
# What a reader encodes at once: bounds the memory, for long contexts too.
_QUESTIONS, _CHARACTERS = 2048, 4_000_000


class CharacterScores(NamedTuple):
    """A reader's scores of the places of one context, with their character offsets."""

    places: Ints  # (P, 2) characters, half-open
    start: Doubles  # (P,)
    end: Doubles  # (P,)
    windows: Ints  # (W, 2) characters of each window that was read
    null: Doubles | None  # (W, 2) scores of "no answer"; None: the reader cannot refuse


class RowTargets(NamedTuple):
    """Probabilities of the places of a row, and of "no answer", as start and as end."""

    start: Doubles  # (places,)
    end: Doubles  # (places,)
    null: Doubles  # (2,)


def probabilities(
    scores: CharacterScores, places: Ints, temperature: float = 1.0, *, refuses: bool = False
) -> RowTargets | None:
    """The probability of each place as the first and as the last of the answer.

    Each of the teacher's places is mapped to the place that contains its first, or last,
    character. None if the teacher has no places here.

    If it `refuses`, "no answer" has the lowest score in any window that overlaps the row: one
    window that is sure of an answer is enough. Its probability includes that of places in these
    windows outside the row, since the row has no answer if the answer is elsewhere.
    """
    if not len(places):
        return None
    begin, end = int(places[0, 0]), int(places[-1, 1])
    inside = _overlapping(scores.places, begin, end)  # (P,)
    null = np.zeros((0, 2))  # (0 or 1, 2)
    if refuses and scores.null is not None:
        read = _overlapping(scores.windows, begin, end)  # (W,)
        if not read.any():
            return None
        null = scores.null[read].min(axis=0, keepdims=True)
        begin, end = int(scores.windows[read, 0].min()), int(scores.windows[read, 1].max())
        chosen = _overlapping(scores.places, begin, end)  # (P,)
    elif inside.any():
        chosen = inside
    else:
        return None
    theirs, elsewhere = scores.places[chosen], ~inside[chosen]  # (P', 2), (P',)
    # The first place that ends after the teacher's first character, and the last that begins
    # before its last one: they contain it, or are next to the gap that contains it.
    first = np.searchsorted(places[:-1, 1], theirs[:, 0], side="right")  # (P',)
    last = np.searchsorted(places[1:, 0], theirs[:, 1], side="left")  # (P',)
    sides: list[Doubles] = []
    for at, of_places, of_null in ((first, scores.start, 0), (last, scores.end, 1)):
        classes = np.where(elsewhere, 0, 1 + at)  # (P',) 0: no answer
        classes = np.concatenate([np.zeros(len(null), np.int64), classes])  # (1 + P',)
        logits = np.concatenate([null[:, of_null], of_places[chosen]]) / temperature  # (1 + P',)
        weights = np.exp(logits - logits.max())  # (1 + P',)
        shares: Doubles = weights / weights.sum()  # (1 + P',)
        sides.append(np.bincount(classes, shares, 1 + len(places)).astype(np.float64, copy=False))
    return RowTargets(sides[0][1:], sides[1][1:], np.array([sides[0][0], sides[1][0]]))


def _overlapping(spans: Ints, begin: int, end: int) -> NDArray[np.bool_]:
    inside: NDArray[np.bool_] = (spans[:, 1] > begin) & (spans[:, 0] < end)
    return inside


def scores_of(
    teacher: Reader, asked: Mapping[int, Example]
) -> Iterator[tuple[int, CharacterScores]]:
    """The number and the scores of each question."""
    for numbers in _chunks(asked):
        rows = teacher.scorer.encoder.encode([asked[number] for number in numbers])
        windows: list[list[CharacterScores]] = [[] for _ in numbers]
        for listed, scores in teacher.scorer.scores(rows, teacher.rows_at_once):
            for i, row in enumerate(listed.tolist()):
                places = rows.places(row)  # (places, 2)
                allowed = np.flatnonzero(scores.allowed[i, : len(places)])  # (P,)
                places = places[allowed]  # (P, 2)
                found = CharacterScores(
                    places,
                    scores.start[i, allowed].astype(np.float64),
                    scores.end[i, allowed].astype(np.float64),
                    np.array([[places[0, 0], places[-1, 1]]] if len(places) else [[0, 0]]),
                    None if scores.null is None else scores.null[i : i + 1].astype(np.float64),
                )
                windows[int(rows.row_example[row])].append(found)
        for number, found_windows in zip(numbers, windows, strict=True):
            yield number, _joined(found_windows)


def _chunks(asked: Mapping[int, Example]) -> Iterator[list[int]]:
    chunk: list[int] = []
    characters = 0
    for number, example in asked.items():
        characters += len(example.context)
        if chunk and (len(chunk) == _QUESTIONS or characters > _CHARACTERS):
            yield chunk
            chunk, characters = [], len(example.context)
        chunk.append(number)
    if chunk:
        yield chunk


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
    null = [window.null for window in windows if window.null is not None]
    return CharacterScores(
        places,
        start,
        end,
        np.concatenate([window.windows for window in windows]),
        np.concatenate(null) if null else None,
    )
