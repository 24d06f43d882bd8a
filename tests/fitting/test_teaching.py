"""Learning from another reader's probabilities."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from readlet.encoding.rows import NO_LABEL
from readlet.encoding.windows import Windows
from readlet.errors import ReadletError
from readlet.fitting.teaching import CharacterScores, ask_teacher, probabilities
from readlet.fitting.train import train_reader
from readlet.models.span_loss import Targets, span_loss
from readlet.nn.softmax import masked_softmax
from readlet.reading.reader import Reader
from readlet.recipe.recipe_files import load_recipe
from readlet.types import Example, Span

CONTEXT = "the mill stood by the river and the miller sold oil to the town for years until 1881"
EXAMPLES = [
    Example("1", "where stood the mill", CONTEXT, (Span(15, "by the river"),)),
    Example("2", "who sold oil", CONTEXT, (Span(32, "the miller"),)),
    Example("3", "who bought the mill", CONTEXT, is_impossible=True),
]


def with_windows(reader: Reader, max_context: int, overlap: int) -> Reader:
    windows = Windows(max_context, overlap, 12)
    encoder = replace(reader.scorer.encoder, windows=windows)
    return replace(reader, scorer=replace(reader.scorer, encoder=encoder))


@pytest.mark.parametrize("teacher_null", [False, True])
@pytest.mark.parametrize("student_null", [False, True])
def test_targets_are_the_teachers_probabilities_of_every_word(
    random_reader: Callable[..., Reader], teacher_null: bool, student_null: bool
) -> None:
    """The teacher has another vocabulary, and may be able to refuse."""
    student = random_reader(CONTEXT, null=student_null, seed=1)
    teacher = random_reader("the mill sold oil", null=teacher_null, seed=2)
    rows = student.scorer.encoder.encode(EXAMPLES)  # one window each
    taught = ask_teacher(teacher, EXAMPLES, rows, 0.5)
    its_own = teacher.scorer.encoder.encode(EXAMPLES)
    over = teacher.scorer.over(its_own)
    for batch in student.scorer.batches(rows, 2):
        width = batch.context.shape[1] - student_null
        targets = taught(batch.rows, width)
        for i, row in enumerate(batch.rows.tolist()):
            if row < 0 or rows.row_label[row, 0] == NO_LABEL:
                assert row < 0 or targets.exists[i] == 0
                continue
            alone = teacher.scorer.batches(its_own, 1)
            shape = alone.in_order()[0][0]
            with torch.inference_mode():
                scores = over(alone.make(shape, np.array([row], np.int32)))
            length = int(rows.row_window[row, 1])
            for got, logits in zip(targets[:2], (scores.start, scores.end), strict=True):
                wanted = masked_softmax(logits, scores.allowed)[0, :length]
                assert torch.allclose(got[i, :length], wanted, atol=1e-3)
                assert got[i].sum() == pytest.approx(1.0, abs=0.01)
            assert targets.exists[i] == 1


def test_windows_of_teacher_and_student_may_differ(random_reader: Callable[..., Reader]) -> None:
    """A place in several windows of the teacher has its highest score."""
    whole = random_reader(CONTEXT, seed=2)
    cut = with_windows(whole, 8, 3)
    rows = with_windows(random_reader(CONTEXT, seed=1), 10, 4).scorer.encoder.encode(EXAMPLES)
    taught = ask_teacher(cut, EXAMPLES, rows, 0.5)
    its_own = cut.scorer.encoder.encode(EXAMPLES[:1])
    best: dict[int, float] = {}
    for numbers, scores in cut.scorer.scores(its_own, 4):
        for i, row in enumerate(numbers):
            for place, (start, _) in enumerate(its_own.places(row)):
                best[int(start)] = max(best.get(int(start), -99), float(scores.start[i, place]))
    row = int(np.flatnonzero((rows.row_example == 0) & (rows.row_label[:, 0] >= 0))[0])
    mine = np.array([best[int(start)] for start, _ in rows.places(row)])
    wanted = np.exp(mine) / np.exp(mine).sum()
    first, length = int(taught.first[row]), int(taught.length[row])
    assert taught.start[first : first + length].numpy() == pytest.approx(wanted, abs=1e-3)


@given(st.data())
def test_probabilities_are_mapped_through_characters(data: st.DataObject) -> None:
    """In any tokenisation, all of the teacher's probability arrives at the right characters."""

    def cut(length: int) -> Any:
        borders = data.draw(st.sets(st.integers(0, length), min_size=2, max_size=12).map(sorted))
        spans = list(pairwise(borders))
        kept = data.draw(st.lists(st.booleans(), min_size=len(spans), max_size=len(spans)))
        return np.array([s for s, k in zip(spans, kept, strict=True) if k] or spans, np.int32)

    theirs, ours = cut(40), cut(40)
    numbers = st.floats(-5, 5)
    start, end = (
        np.array(data.draw(st.lists(numbers, min_size=len(theirs), max_size=len(theirs))))
        for _ in "se"
    )
    given_start, given_end = probabilities(CharacterScores(theirs, start, end), ours)
    inside = [i for i, (s, e) in enumerate(theirs) if e > ours[0, 0] and s < ours[-1, 1]]
    if not inside:
        assert len(given_start) == len(given_end) == 0
        return
    assert len(given_start) == len(given_end) == len(ours)
    wanted_start, wanted_end = np.zeros(len(ours)), np.zeros(len(ours))
    for i in inside:
        first = next((n for n, (_, e) in enumerate(ours) if e > theirs[i, 0]), len(ours) - 1)
        last = max((n for n, (s, _) in enumerate(ours) if s < theirs[i, 1]), default=0)
        wanted_start[first] += np.exp(start[i]) / np.exp(start[inside]).sum()
        wanted_end[last] += np.exp(end[i]) / np.exp(end[inside]).sum()
    assert given_start == pytest.approx(wanted_start, abs=1e-3)
    assert given_end == pytest.approx(wanted_end, abs=1e-3)


def test_a_teacher_who_knows_the_answer_changes_nothing(
    random_reader: Callable[..., Reader],
) -> None:
    student = random_reader(CONTEXT, null=True)
    rows = student.scorer.encoder.encode(EXAMPLES[:2])
    (batch,) = student.scorer.batches(rows, 8)
    with torch.no_grad():
        scores = student.scorer.over(rows)(batch)
    gold = span_loss(scores, batch, 0.0)
    width = scores.start.shape[1]
    labels = batch.labels.clamp(min=0)
    one_hot = [torch.nn.functional.one_hot(labels[:, side], width).float() for side in (0, 1)]
    taught = Targets(one_hot[0], one_hot[1], torch.ones(8))
    assert span_loss(scores, batch, 0.0, taught, 0.7) == pytest.approx(float(gold), abs=1e-5)


def test_only_rows_with_an_answer_are_taught(random_reader: Callable[..., Reader]) -> None:
    student = with_windows(random_reader(CONTEXT, null=True, seed=3), 16, 8)
    rows = student.scorer.encoder.encode(EXAMPLES)
    taught = ask_teacher(random_reader(CONTEXT, seed=4), EXAMPLES, rows, 0.5)
    plain, with_teacher = (student.scorer.learner(rows, 0.0, t) for t in (None, taught))
    for batch in student.scorer.batches(rows, 1):
        row = int(batch.rows[0])
        with torch.no_grad():
            difference = abs(float(plain(batch) - with_teacher(batch)))
        assert (difference > 1e-4) == (rows.row_label[row, 0] != NO_LABEL)


def test_training_with_a_teacher(small_training: list[str], tmp_path: Path) -> None:
    changes = [*small_training, "training.epochs=1"]
    first = train_reader(load_recipe("tiny", changes), tmp_path / "first", resume=False)
    assert first.metrics["steps"] > 0
    changes += [f"training.teacher={tmp_path / 'first'}", "training.teacher_share=0.9"]
    second = train_reader(
        load_recipe("tiny", [*changes, "training.seed=1"]), tmp_path / "second", resume=False
    )
    third = train_reader(
        load_recipe("tiny", [*changes, "training.seed=1", "training.teacher_share=0.0"]),
        tmp_path / "third",
        resume=False,
    )
    one, two = (reader.scorer.module.state_dict() for reader in (second, third))
    assert any(not torch.equal(weight, two[name]) for name, weight in one.items())


def test_a_missing_teacher_is_reported(small_training: list[str], tmp_path: Path) -> None:
    changes = [*small_training, f"training.teacher={tmp_path / 'nobody'}"]
    with pytest.raises(ReadletError, match="nobody"):
        train_reader(load_recipe("tiny", changes), tmp_path / "out", resume=False)


def test_another_teacher_is_noticed_when_resuming(
    small_training: list[str], tmp_path: Path
) -> None:
    train_reader(
        load_recipe("tiny", [*small_training, "training.epochs=1"]), tmp_path / "old", resume=False
    )
    changes = [*small_training, "training.epochs=1", f"training.teacher={tmp_path / 'old'}"]
    train_reader(load_recipe("tiny", changes), tmp_path / "out", resume=False)
    train_reader(load_recipe("tiny", changes), tmp_path / "out", resume=True)
    with (tmp_path / "old" / "vocabulary.json").open("a") as stream:
        stream.write(" ")
    with pytest.raises(ReadletError, match="or the start or teacher reader"):
        train_reader(load_recipe("tiny", changes), tmp_path / "out", resume=True)
