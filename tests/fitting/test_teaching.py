"""Learning from another reader's probabilities."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from readlet.encoding.batches import Batches, FormTables, shapes
from readlet.encoding.features import NO_LABEL, Features, encode
from readlet.encoding.windows import Windows
from readlet.errors import ReadletError
from readlet.fitting.teaching import ask_teacher
from readlet.fitting.train import train_reader
from readlet.models.span_loss import SpanLoss, Targets, Teacher, span_loss
from readlet.nn.softmax import masked_softmax
from readlet.reading.reader import Reader
from readlet.recipe.recipe import Recipe
from readlet.recipe.recipe_files import load_recipe
from readlet.types import Example, Span

CONTEXT = "the mill stood by the river and the miller sold oil to the town for years until 1881"
EXAMPLES = [
    Example("1", "where stood the mill", CONTEXT, (Span(15, "by the river"),)),
    Example("2", "who sold oil", CONTEXT, (Span(32, "the miller"),)),
    Example("3", "who bought the mill", CONTEXT, is_impossible=True),
]
WINDOWS = Windows(16, 8, 12)


def recipe_for(student: Reader) -> Recipe:
    data = student.recipe.data.model_copy(update={"max_context": 16, "overlap": 8})
    return student.recipe.model_copy(update={"data": data})


def taught(student: Reader, teacher: Reader) -> tuple[Features, Teacher]:
    features = encode(EXAMPLES, student.vocabulary, WINDOWS)
    known = student.vocabulary
    device = torch.device("cpu")
    return features, ask_teacher(teacher, recipe_for(student), known, EXAMPLES, features, device)


@pytest.mark.parametrize("teacher_null", [False, True])
@pytest.mark.parametrize("student_null", [False, True])
def test_targets_are_what_the_teacher_says_of_every_word(
    random_reader: Callable[..., Reader], teacher_null: bool, student_null: bool
) -> None:
    """The teacher knows other words, and may have a place for "no answer" of its own."""
    student = random_reader(CONTEXT, null=student_null, seed=1)
    teacher = random_reader("the mill sold oil", null=teacher_null, seed=2)
    features, made = taught(student, teacher)
    its_own = encode(EXAMPLES, teacher.vocabulary, WINDOWS)
    listed = shapes(16, 12, null=student_null)
    for batch in Batches(features, listed, 2, null=student_null):
        said = made(batch.rows, batch.context.shape[1], int(student_null))
        for i, row in enumerate(batch.rows.tolist()):
            if row < 0 or features.row_label[row, 0] == NO_LABEL:
                assert row < 0 or said.has_say[i] == 0
                continue
            one = Batches(its_own, shapes(16, 12, null=teacher_null), 1, null=teacher_null)
            shape = one.shapes[-1]
            alone = one.make(shape, np.array([row], np.int32))
            with torch.inference_mode():
                scores = teacher.model(alone, FormTables(its_own))
            keep = scores.keep.clone()
            keep[:, : int(teacher_null)] = False
            length = int(features.row_window[row, 1])
            for got, logits in zip(said[:2], (scores.start, scores.end), strict=True):
                wanted = masked_softmax(logits, keep)[0, int(teacher_null) :][:length]
                shift = int(student_null)
                assert torch.allclose(got[i, shift : shift + length], wanted, atol=1e-3)
                assert got[i].sum() == pytest.approx(1.0, abs=0.01)
            assert said.has_say[i] == 1


def test_a_teacher_who_knows_the_answer_changes_nothing(
    random_reader: Callable[..., Reader],
) -> None:
    student = random_reader(CONTEXT, null=True)
    features = encode(EXAMPLES, student.vocabulary, WINDOWS)
    (batch,) = Batches(features, shapes(16, 12, null=True)[-1:], 8, null=True)
    with torch.no_grad():
        scores = student.model(batch, FormTables(features))
    gold = span_loss(scores, batch, 0.0)
    sure = [torch.nn.functional.one_hot(batch.labels[:, side], 32).float() for side in (0, 1)]
    said = Targets(
        sure[0][:, : batch.context.shape[1]], sure[1][:, : batch.context.shape[1]], torch.ones(8)
    )
    assert span_loss(scores, batch, 0.0, said, 0.7) == pytest.approx(float(gold), abs=1e-5)


def test_only_rows_with_an_answer_are_taught(random_reader: Callable[..., Reader]) -> None:
    student = random_reader(CONTEXT, null=True, seed=3)
    features, made = taught(student, random_reader(CONTEXT, seed=4))
    listed = shapes(16, 12, null=True)[-1:]
    batches = Batches(features, listed, 1, null=True)
    plain = SpanLoss(student.model, FormTables(features), 0.0)
    with_teacher = SpanLoss(student.model, FormTables(features), 0.0, made, null=True)
    for batch in batches:
        row = int(batch.rows[0])
        with torch.no_grad():
            difference = abs(float(plain(batch) - with_teacher(batch)))
        assert (difference > 1e-4) == (features.row_label[row, 0] != NO_LABEL)


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
    weights: list[dict[str, Any]] = [reader.model.state_dict() for reader in (second, third)]
    assert any(not torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_a_teacher_that_is_not_there_is_told(small_training: list[str], tmp_path: Path) -> None:
    changes = [*small_training, f"training.teacher={tmp_path / 'nobody'}"]
    with pytest.raises(ReadletError, match="nobody"):
        train_reader(load_recipe("tiny", changes), tmp_path / "out", resume=False)


def test_another_teacher_is_noticed_when_going_on(
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
    with pytest.raises(ReadletError, match="or a reader to start or to learn from"):
        train_reader(load_recipe("tiny", changes), tmp_path / "out", resume=True)
