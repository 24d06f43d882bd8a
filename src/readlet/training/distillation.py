"""Maps a reader's scores over the characters of a context to probabilities of other tokens.

So any kind of reader can be distilled into any other: a word model from a subword model with other
windows.

Distillation targets: the probabilities of trained readers for the training questions.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from readlet.console import track
from readlet.engine.processes import is_main_process
from readlet.inference.decoding import NOTHING
from readlet.inference.reader import Reader
from readlet.models.recipe_files import recipe_of
from readlet.models.torch_scorer import Teacher
from readlet.text.rows import Ints, Rows, Stored, cache_key, cached
from readlet.training.training_data import texts_in_fold
from readlet.types import Example

Doubles = NDArray[np.float64]
# What a reader encodes at once: bounds the memory, for long contexts too.
_QUESTIONS, _CHARACTERS = 2048, 4_000_000


class CharacterScores(NamedTuple):
    """A reader's scores of the positions of one context, with their character offsets."""

    places: Ints  # (P, 2) characters, half-open
    start: Doubles  # (P,)
    end: Doubles  # (P,)
    windows: Ints  # (W, 2) characters of each window that was read
    null: Doubles | None  # (W, 2) scores of "no answer"; None: the reader cannot abstain


class RowTargets(NamedTuple):
    """Probabilities of the positions of a row, and of "no answer", as start and as end."""

    start: Doubles  # (places,)
    end: Doubles  # (places,)
    null: Doubles  # (2,)


def probabilities(
    scores: CharacterScores, places: Ints, temperature: float = 1.0, *, abstains: bool = False
) -> RowTargets | None:
    """The probability of each position as the first and as the last of the answer.

    Each of the teacher's positions is mapped to the position that contains its first, or last,
    character. None if the teacher has no positions here.

    If it `abstains`, "no answer" has the lowest score in any window that overlaps the row: one
    window that is sure of an answer is enough. Its probability includes that of positions in these
    windows outside the row, since the row has no answer if the answer is elsewhere.
    """
    if not len(places):
        return None
    begin, end = int(places[0, 0]), int(places[-1, 1])
    inside = _overlapping(scores.places, begin, end)  # (P,)
    null = np.zeros((0, 2))  # (0 or 1, 2)
    if abstains and scores.null is not None:
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
    # The first position that ends after the teacher's first character, and the last that begins
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
    """Windows overlap: a position gets its highest score in any of them."""
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


def ask_teachers(
    teachers: Sequence[Reader],
    examples: Sequence[Example],
    rows: Rows,
    share: float,
    *,
    temperature: float = 1.0,
    can_abstain: bool = False,
    device: str = "cpu",
) -> Teacher:
    """The mean of the teachers' probabilities for every row that any of them predicts.

    A teacher that was trained with folds predicts the part that it has not seen. Rows
    without an answer are included if student (`can_abstain`) and teacher can abstain. The teachers
    move to `device` one after the other.
    """
    length = rows.row_window[:, 1].astype(np.int64)  # (rows,)
    first = np.cumsum(length) - length  # (rows,)
    start, end = np.zeros((2, int(length.sum())), np.float32)  # (places of all rows,) each
    null, asked = np.zeros((len(rows), 2), np.float32), np.zeros(len(rows), np.int64)
    for i, teacher in enumerate(teachers):
        abstains = can_abstain and teacher.scorer.can_abstain
        of_example = _rows_to_teach(teacher, examples, rows, abstains=abstains)
        at_work = replace(teacher, device=device)
        scored = scores_of(at_work, {number: examples[number] for number in of_example})
        if is_main_process():
            name = "the teacher" if len(teachers) == 1 else f"teacher {i + 1} of {len(teachers)}"
            scored = track(scored, len(of_example), f"scoring with {name}")
        for number, scores in scored:
            for row in of_example[number]:
                found = probabilities(scores, rows.places(row), temperature, abstains=abstains)
                if found is not None:
                    places = slice(first[row], first[row] + length[row])
                    start[places] += found.start
                    end[places] += found.end
                    null[row] += found.null
                    asked[row] += 1
        teacher.scorer.move_to(teacher.device)
    taught = asked > 0  # (rows,)
    count, kept = np.maximum(asked, 1), np.repeat(taught, length)  # (rows,), (places of all rows,)
    of_place = np.repeat(count.astype(np.float32), length)[kept]  # (places of taught rows,)
    mean_start, mean_end = (
        torch.from_numpy((side[kept] / of_place).astype(np.float16)) for side in (start, end)
    )  # (places of taught rows,)
    mean_null = None
    if can_abstain and any(teacher.scorer.can_abstain for teacher in teachers):
        mean_null = torch.from_numpy(null / count[:, None].astype(np.float32))  # (rows, 2)
    known = torch.from_numpy(np.where(taught, length, 0))  # (rows,)
    return Teacher(mean_start, mean_end, known, share, mean_null)


def remembered(ask: Callable[[], Teacher], share: float, settings: dict[str, Any]) -> Teacher:
    """Teachers' probabilities, cached: large teachers take longer than the training itself.

    `settings` determine their probabilities.
    """

    def stored() -> Stored:
        taught = ask()
        return {name: t.numpy() for name, t in taught.state_dict().items() if name != "first"}, {}

    found, _ = cached(cache_key([], settings, ask_teachers), stored)
    tensors = {name: torch.from_numpy(array) for name, array in found.items()}
    return Teacher(share=share, **tensors)


def count_untaught(taught: Teacher, rows: Rows, *, can_abstain: bool) -> int:
    """The number of training questions that no teacher gave probabilities for."""
    known = rows.row_example[taught.length.numpy() > 0]  # (taught rows,)
    return len(np.setdiff1d(rows.row_example[rows.trainable(can_abstain=can_abstain)], known))


def _rows_to_teach(
    teacher: Reader, examples: Sequence[Example], rows: Rows, *, abstains: bool
) -> dict[int, list[int]]:
    """The rows of each example that the teacher predicts."""
    data = recipe_of(teacher.recipe).data
    unseen = texts_in_fold(data, (example.context for example in examples))
    found: defaultdict[int, list[int]] = defaultdict(list)
    for row in rows.trainable(can_abstain=abstains).tolist():
        number = int(rows.row_example[row])
        if not data.folds or examples[number].context in unseen:
            found[number].append(row)
    return found
