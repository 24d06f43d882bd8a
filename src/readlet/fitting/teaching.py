"""Distillation: the probabilities that trained readers give for the training questions."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from readlet.fitting.character_scores import probabilities, scores_of
from readlet.fitting.folds import contexts_in_fold
from readlet.models.span_loss import Teacher
from readlet.progress import track
from readlet.reading.reader import Reader
from readlet.text.cache import Stored, cache_key, cached
from readlet.text.rows import Rows
from readlet.training.processes import is_main_process
from readlet.types import Example


def ask_teachers(
    teachers: Sequence[Reader],
    examples: Sequence[Example],
    rows: Rows,
    share: float,
    *,
    temperature: float = 1.0,
    can_refuse: bool = False,
    device: str = "cpu",
) -> Teacher:
    """The mean of the teachers' probabilities for every row that one of them is asked about.

    A teacher that was trained with folds is asked about the part that it has not seen. Rows
    without an answer are taught if student (`can_refuse`) and teacher can refuse. The teachers
    move to `device` one after the other.
    """
    length = rows.row_window[:, 1].astype(np.int64)  # (rows,)
    first = np.cumsum(length) - length  # (rows,)
    start, end = np.zeros((2, int(length.sum())), np.float32)  # (places of all rows,) each
    null, asked = np.zeros((len(rows), 2), np.float32), np.zeros(len(rows), np.int64)
    for i, teacher in enumerate(teachers):
        refuses = can_refuse and teacher.scorer.can_refuse
        of_example = _rows_to_teach(teacher, examples, rows, refuses=refuses)
        at_work = replace(teacher, device=device)
        scored = scores_of(at_work, {number: examples[number] for number in of_example})
        if is_main_process():
            name = "the teacher" if len(teachers) == 1 else f"teacher {i + 1} of {len(teachers)}"
            scored = track(scored, len(of_example), f"scoring with {name}")
        for number, scores in scored:
            for row in of_example[number]:
                found = probabilities(scores, rows.places(row), temperature, refuses=refuses)
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
    if can_refuse and any(teacher.scorer.can_refuse for teacher in teachers):
        mean_null = torch.from_numpy(null / count[:, None].astype(np.float32))  # (rows, 2)
    known = torch.from_numpy(np.where(taught, length, 0))  # (rows,)
    return Teacher(mean_start, mean_end, known, share, mean_null)


def remembered(ask: Callable[[], Teacher], share: float, settings: dict[str, Any]) -> Teacher:
    """What teachers answer, kept in the cache: large ones take longer than the training itself.

    `settings` determine their answers.
    """

    def stored() -> Stored:
        taught = ask()
        return {name: t.numpy() for name, t in taught.state_dict().items() if name != "first"}, {}

    found, _ = cached(cache_key([], settings, ask_teachers), stored)
    tensors = {name: torch.from_numpy(array) for name, array in found.items()}
    return Teacher(share=share, **tensors)


def count_untaught(taught: Teacher, rows: Rows, *, can_refuse: bool) -> int:
    """The number of training questions that no teacher gave probabilities for."""
    known = rows.row_example[taught.length.numpy() > 0]  # (taught rows,)
    return len(np.setdiff1d(rows.row_example[rows.trainable(can_refuse=can_refuse)], known))


def _rows_to_teach(
    teacher: Reader, examples: Sequence[Example], rows: Rows, *, refuses: bool
) -> dict[int, list[int]]:
    """The rows of each example that the teacher is asked about."""
    unseen = contexts_in_fold(teacher.recipe.data, examples)
    found: defaultdict[int, list[int]] = defaultdict(list)
    for row in rows.trainable(can_refuse=refuses).tolist():
        number = int(rows.row_example[row])
        if not teacher.recipe.data.folds or examples[number].context in unseen:
            found[number].append(row)
    return found
