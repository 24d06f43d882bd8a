"""Fine-tuning a reader: what it keeps of the reader it starts from, and what is reported."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.data import read_examples, write_examples
from readlet.inference.calibration import Calibration
from readlet.inference.evaluate_files import evaluate_questions
from readlet.inference.reader import Reader
from readlet.inference.trained_model import needs_torch
from readlet.models.recipe_files import load_recipe
from readlet.training.question_answering import has_impossible
from readlet.training.train import objective_of, train_reader
from readlet.training.training_data import prepare, read_split
from readlet.training.warm_start import load_start
from readlet.types import Example

Build = Callable[..., Reader]
KEPT = Calibration(
    temperature=1.3,
    no_answer_slope=0.4,
    no_answer_bias=-0.2,
    questions=99,
    error_before=0.2,
    error_after=0.1,
)


@pytest.fixture
def mine(short_corpus: Path) -> list[Example]:
    """Questions with an answer only, on several passages."""
    return [e for e in read_examples(short_corpus) if e.answers][:40]


@pytest.fixture
def start(random_reader: Build, mine: list[Example], tmp_path: Path) -> Path:
    reader = random_reader(*(e.context for e in mine), null=True)
    reader.calibration = KEPT
    reader.save(tmp_path / "start")
    return tmp_path / "start"


@pytest.fixture
def finetune(mine: list[Example], start: Path, tmp_path: Path) -> Callable[..., Any]:
    """The recipe, for these questions and this reader."""
    write_examples(tmp_path / "mine.csv", mine)
    windows = ("data.max_context=24", "data.overlap=8", "data.max_question=12")

    def recipe(*changes: str) -> Any:
        files = (f"data.train={tmp_path / 'mine.csv'}", f"training.start={start}")
        return load_recipe("finetune-qacnn", [*files, *windows, "training.epochs=1", *changes])

    return recipe


def test_replayed_questions_are_trained_on_and_never_held_out(
    finetune: Callable[..., Any], mine: list[Example], tmp_path: Path
) -> None:
    other = Example("1", "Who lit the lamp?", "Ada Brook lit it.", is_impossible=True)
    write_examples(tmp_path / "other.jsonl", [other, *mine])
    alone, mixed = (
        read_split(finetune(*changes))
        for changes in ((), (f"data.replay={tmp_path / 'other.jsonl'}",))
    )
    assert mixed.held_out == alone.held_out
    apart = {e.context for e in mixed.held_out}
    assert len(apart) > 1
    replayed = mixed.train[len(alone.train) :]
    assert mixed.train[: len(alone.train)] == alone.train
    assert len(replayed) == mixed.replayed == len(alone.train)  # of one more
    assert {e.context for e in replayed} <= {other.context, *(e.context for e in alone.train)}
    assert not apart & {e.context for e in replayed}
    assert len({e.id for e in mixed.train}) == len(mixed.train)


def test_the_share_is_that_of_the_questions(
    random_reader: Build, short_corpus: Path, tmp_path: Path
) -> None:
    """Of questions that all have an answer nothing is learned about those that have none."""
    examples = list(read_examples(short_corpus))
    reader = random_reader(*(e.context for e in examples), null=True)
    reader.calibration = KEPT
    reader.save(tmp_path / "start")
    found = {}
    for name, chosen in (("all", examples), ("answerable", [e for e in examples if e.answers])):
        write_examples(data := tmp_path / f"{name}.jsonl", chosen)
        changes = ["data.max_context=24", "data.overlap=8", "data.max_question=12"]
        changes += [f"data.train={data}", "data.held_out=0.4", "training.epochs=1"]
        changes += ["training.batch_size=64", f"training.start={tmp_path / 'start'}"]
        recipe = load_recipe("finetune-qacnn", changes)
        held_out = read_split(recipe).held_out
        made = train_reader(recipe, tmp_path / name, resume=False).calibration
        found[name] = made, sum(not e.answers for e in held_out) / len(held_out)
    calibration, share = found["all"]
    assert calibration.unanswerable_share == pytest.approx(share, abs=0.05)
    assert calibration.no_answer_bias != KEPT.no_answer_bias
    kept, _ = found["answerable"]
    assert kept.unanswerable_share == KEPT.unanswerable_share
    assert kept.no_answer_bias == KEPT.no_answer_bias
    assert kept.temperature == KEPT.temperature


def test_it_still_refuses_without_unanswerable_questions(
    finetune: Callable[..., Any],
) -> None:
    before, recipe = load_start(finetune())
    data = prepare(recipe, before)
    assert not has_impossible(data)
    assert objective_of(recipe, before).build(data).can_abstain
    assert not objective_of(recipe, None).build(data).can_abstain


def test_it_is_compared_with_its_start(
    finetune: Callable[..., Any], start: Path, tmp_path: Path
) -> None:
    dev = tmp_path / "mine.csv"
    changes = (f"data.dev={dev}", "training.learning_rate=1e-9", "training.ema=0")
    reader = train_reader(finetune(*changes), tmp_path / "run", resume=False)
    expected = evaluate_questions(str(dev), reader=str(start)).official
    assert reader.metrics["start"] == {
        "exact": pytest.approx(expected["exact"]),
        "f1": pytest.approx(expected["f1"]),
        "f1_p": 1.0,  # nothing was learned
    }


def test_a_fold_that_the_start_has_seen(finetune: Callable[..., Any], tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"^data\.fold: the start reader was not trained without"):
        train_reader(finetune("data.folds=2", "data.fold=1"), tmp_path / "run", resume=False)


def test_the_result_is_as_small_as_the_bundled_reader(
    random_encoder_reader: Build, short_corpus: Path, tmp_path: Path
) -> None:
    """Eight bits and an ONNX model, without a checkpoint; it answers without torch."""
    random_encoder_reader().save(tmp_path / "start")
    write_examples(tmp_path / "mine.csv", list(read_examples(short_corpus))[:12])
    files = (f"data.train={tmp_path / 'mine.csv'}", f"training.start={tmp_path / 'start'}")
    changes = ("training.epochs=1", "data.max_context=24", "data.overlap=8", "data.max_question=12")
    train_reader(load_recipe("finetune", [*files, *changes]), tmp_path / "run", resume=False)
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert "model.onnx" in names
    assert not {name for name in names if name.startswith(("checkpoint", "part", "best", "."))}
    start, result = (
        (tmp_path / of / "model.safetensors").stat().st_size for of in ("start", "run")
    )
    assert result < start / 2
    assert not needs_torch(str(tmp_path / "run"))
