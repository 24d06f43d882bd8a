"""Learning from another reader's probabilities."""

import json
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

from readlet.errors import ReadletError
from readlet.inference.reader import Reader
from readlet.inference.saving import own_files
from readlet.models.recipe_files import load_recipe, recipe_of
from readlet.models.torch_scorer import Targets, Teacher, span_loss
from readlet.nn.softmax import masked_softmax
from readlet.text.rows import NO_LABEL, Windows
from readlet.training import distillation
from readlet.training.distillation import (
    CharacterScores,
    ask_teachers,
    count_untaught,
    probabilities,
)
from readlet.training.train import train_reader
from readlet.training.training_data import part_of
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
    """The teacher has another vocabulary, and may be able to abstain."""
    student = random_reader(CONTEXT, null=student_null, seed=1)
    teacher = random_reader("the mill sold oil", null=teacher_null, seed=2)
    rows = student.scorer.encoder.encode(EXAMPLES)  # one window each
    taught = ask_teachers([teacher], EXAMPLES, rows, 0.5)
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
    taught = ask_teachers([cut], EXAMPLES, rows, 0.5)
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
    windows = np.array([[0, 40]], np.int32)
    found = probabilities(CharacterScores(theirs, start, end, windows, None), ours)
    inside = [i for i, (s, e) in enumerate(theirs) if e > ours[0, 0] and s < ours[-1, 1]]
    if not inside:
        assert found is None
        return
    assert found is not None
    assert len(found.start) == len(found.end) == len(ours)
    assert not found.null.any()
    wanted_start, wanted_end = np.zeros(len(ours)), np.zeros(len(ours))
    for i in inside:
        first = next((n for n, (_, e) in enumerate(ours) if e > theirs[i, 0]), len(ours) - 1)
        last = max((n for n, (s, _) in enumerate(ours) if s < theirs[i, 1]), default=0)
        wanted_start[first] += np.exp(start[i]) / np.exp(start[inside]).sum()
        wanted_end[last] += np.exp(end[i]) / np.exp(end[inside]).sum()
    assert found.start == pytest.approx(wanted_start, abs=1e-9)
    assert found.end == pytest.approx(wanted_end, abs=1e-9)


def test_a_teacher_who_knows_the_answer_changes_nothing(
    random_reader: Callable[..., Reader],
) -> None:
    """Also if the answer is that there is none."""
    student = random_reader(CONTEXT, null=True)
    rows = student.scorer.encoder.encode(EXAMPLES)
    (batch,) = student.scorer.batches(rows, 8)
    with torch.no_grad():
        scores = student.scorer.over(rows)(batch)
    gold = span_loss(scores, batch, 0.0)
    width = scores.start.shape[1]
    labels = batch.labels.clamp(min=0)
    none = (batch.labels == NO_LABEL).float()  # (B, 2)
    assert none[batch.weight > 0].any()
    start, end = (
        torch.nn.functional.one_hot(labels[:, side], width) * (1 - none[:, side : side + 1])
        for side in (0, 1)
    )
    taught = Targets(start, end, torch.ones(8), none)
    assert span_loss(scores, batch, 0.0, taught, 0.7) == pytest.approx(float(gold), abs=1e-5)


@pytest.mark.parametrize("teacher_null", [False, True])
def test_rows_without_an_answer_are_taught_by_those_who_can_refuse(
    random_reader: Callable[..., Reader], teacher_null: bool
) -> None:
    student = with_windows(random_reader(CONTEXT, null=True, seed=3), 16, 8)
    rows = student.scorer.encoder.encode(EXAMPLES)
    teacher = random_reader(CONTEXT, null=teacher_null, seed=4)
    taught = ask_teachers([teacher], EXAMPLES, rows, 0.5, can_abstain=True)
    plain, with_teacher = (student.scorer.learner(rows, 0.0, t) for t in (None, taught))
    for batch in student.scorer.batches(rows, 1):
        row = int(batch.rows[0])
        with torch.no_grad():
            difference = abs(float(plain(batch) - with_teacher(batch)))
        assert (difference > 1e-4) == (teacher_null or rows.row_label[row, 0] != NO_LABEL)


def test_no_answer_is_the_surest_window_and_places_outside_the_row() -> None:
    """Against a list of classes: three teacher windows, of which two overlap the row."""
    places = np.array([[0, 3], [4, 7], [8, 11], [12, 15], [16, 19]], np.int32)
    start, end = np.array([0.5, 1.0, -1.0, 2.0, 9.0]), np.array([1.5, 0.0, 0.3, -2.0, 9.0])
    windows = np.array([[0, 11], [4, 15], [16, 19]], np.int32)
    null = np.array([[3.0, -1.0], [1.0, 2.0], [-9.0, -9.0]])  # (windows, 2)
    ours = np.array([[4, 9], [9, 11]], np.int32)
    scores = CharacterScores(places, start, end, windows, null)
    found = probabilities(scores, ours, 2.0, abstains=True)
    assert found is not None
    # "No answer" competes with the places of the two windows; the first and fourth are not ours.
    for got, of_null, of_places, at, lowest in (
        (found.start, found.null[0], start, [[1, 2], []], 1.0),
        (found.end, found.null[1], end, [[1], [2]], -1.0),
    ):
        weights = np.exp(of_places[:4] / 2.0)
        total = weights.sum() + np.exp(lowest / 2.0)
        assert got == pytest.approx([weights[numbers].sum() / total for numbers in at])
        assert of_null == pytest.approx((weights[[0, 3]].sum() + np.exp(lowest / 2.0)) / total)
    assert probabilities(scores, np.array([[30, 33]], np.int32), abstains=True) is None


def test_several_teachers_are_averaged(random_reader: Callable[..., Reader]) -> None:
    """Rows without an answer have the probabilities of those who can abstain."""
    student = with_windows(random_reader(CONTEXT, null=True, seed=3), 16, 8)
    rows = student.scorer.encoder.encode(EXAMPLES)
    teachers = [
        random_reader(CONTEXT, null=null, seed=seed) for null, seed in ((False, 4), (True, 5))
    ]

    def asked(*chosen: Reader) -> Teacher:
        return ask_teachers(chosen, EXAMPLES, rows, 0.5, can_abstain=True)

    one, two, both = asked(teachers[0]), asked(teachers[1]), asked(*teachers)
    numbers = torch.arange(len(rows))
    (a, b, mean) = (of(numbers, 16) for of in (one, two, both))
    assert a.null is None
    assert b.null is not None
    assert mean.null is not None
    assert 0 < a.exists.sum() < len(rows)
    assert mean.exists.all()
    for row, has_both in enumerate(a.exists.tolist()):
        share = 0.5 if has_both else 1.0
        for side in (0, 1):
            wanted = share * b[side][row] + (1 - share) * a[side][row]
            torch.testing.assert_close(mean[side][row], wanted, atol=1e-3, rtol=0)
        torch.testing.assert_close(mean.null[row], share * b.null[row], atol=1e-3, rtol=0)


def test_every_question_is_taught_by_the_reader_that_did_not_see_it(
    random_reader: Callable[..., Reader],
) -> None:
    contexts = [f"{CONTEXT} in house {number}" for number in range(40)]
    examples = [
        Example(str(i), "who sold oil", context, (Span(32, "the miller"),))
        for i, context in enumerate(contexts)
    ]
    student = random_reader(CONTEXT, seed=3)
    rows = student.scorer.encoder.encode(examples)
    teachers = [random_reader(CONTEXT, seed=4 + n, folds=3, fold=n) for n in range(3)]
    alone = [ask_teachers([teacher], examples, rows, 0.5) for teacher in teachers]
    for number, taught in enumerate(alone):
        wanted = [part_of(context, 3) == number for context in contexts]
        assert (taught.length > 0).tolist() == wanted
        assert 0 < sum(wanted) < 40
        untaught = count_untaught(taught, rows, can_abstain=False)
        assert untaught == 40 - sum(wanted)
    together = ask_teachers(teachers, examples, rows, 0.5)
    assert count_untaught(together, rows, can_abstain=False) == 0
    for row, context in enumerate(contexts):
        given = alone[part_of(context, 3)](torch.tensor([row]), 24)
        for got, wanted_side in zip(together(torch.tensor([row]), 24), given, strict=True):
            assert got is wanted_side is None or torch.equal(got, wanted_side)


def test_training_with_a_teacher(
    small_training: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = [*small_training, "training.epochs=1"]
    first = train_reader(load_recipe("tiny", changes), tmp_path / "first", resume=False)
    assert first.metrics["steps"] > 0
    changes += [f"training.teacher={tmp_path / 'first'}", "training.teacher_share=0.9"]
    second = train_reader(
        load_recipe("tiny", [*changes, "training.seed=1"]), tmp_path / "second", resume=False
    )
    cached = distillation.cached

    def asked_again() -> Any:
        raise AssertionError("its answers are in the cache")

    monkeypatch.setattr(distillation, "cached", lambda key, _: cached(key, asked_again))
    third = train_reader(
        load_recipe("tiny", [*changes, "training.seed=1", "training.teacher_share=0.0"]),
        tmp_path / "third",
        resume=False,
    )
    one, two = (reader.scorer.module.state_dict() for reader in (second, third))
    assert any(not torch.equal(weight, two[name]) for name, weight in one.items())


def test_training_with_teachers_of_folds(
    small_training: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changes = [*small_training, "training.epochs=1"]
    folders = [str(tmp_path / f"fold-{fold}") for fold in range(2)]
    for fold, folder in enumerate(folders):
        chosen = ["data.folds=2", f"data.fold={fold}"]
        train_reader(load_recipe("tiny", [*changes, *chosen]), Path(folder), resume=False)
        assert recipe_of(Reader.load(folder).recipe).data.fold == fold
    capsys.readouterr()
    untaught = "training question without a teacher"
    for name, teachers in (("both", folders), ("one", folders[:1])):
        chosen = [f"training.teacher={json.dumps(teachers)}", "training.teacher_temperature=2"]
        recipe = load_recipe("tiny", [*changes, *chosen])
        reader = train_reader(recipe, tmp_path / name, resume=False)
        assert recipe_of(reader.recipe).training.teacher == tuple(teachers)
        assert (untaught in capsys.readouterr().err) == (name == "one")


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
    for name in own_files(tmp_path / "out"):  # it is not finished
        (tmp_path / "out" / name).unlink(missing_ok=True)
    with pytest.raises(ReadletError, match="or the start or teacher reader"):
        train_reader(load_recipe("tiny", changes), tmp_path / "out", resume=True)
