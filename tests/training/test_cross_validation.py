"""Fine-tuning on few questions: what is fitted on questions that were not trained on."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from readlet.data import read_examples, write_examples
from readlet.engine.loop import TrainingLoop
from readlet.inference.calibration import Calibration
from readlet.inference.reader import Reader
from readlet.models.recipe_files import load_recipe
from readlet.training import cross_validation
from readlet.training.cross_validation import divided
from readlet.training.train import train_reader
from readlet.types import Example

Build = Callable[..., Reader]
PARTS = 3


@pytest.fixture
def mine(short_corpus: Path) -> list[Example]:
    return list(read_examples(short_corpus))[:60]


@pytest.fixture
def recipe(random_reader: Build, mine: list[Example], tmp_path: Path) -> Callable[..., Any]:
    reader = random_reader(*(e.context for e in mine), null=True)
    reader.calibration = Calibration(no_answer_slope=0.5, no_answer_bias=-0.5)
    reader.save(tmp_path / "start")
    write_examples(tmp_path / "mine.jsonl", mine)

    def made(*changes: str) -> Any:
        own = [f"data.train={tmp_path / 'mine.jsonl'}", f"training.start={tmp_path / 'start'}"]
        own += ["data.max_context=24", "data.overlap=8", "data.max_question=12"]
        own += [f"data.cross_validation={PARTS}", "training.epochs=2", "training.batch_size=16"]
        return load_recipe("finetune-qacnn", [*own, *changes])

    return made


def test_parts_are_even_and_share_no_context(mine: list[Example]) -> None:
    parts = divided(mine, PARTS, seed=0)
    assert sorted(e.id for part in parts for e in part) == sorted(e.id for e in mine)
    contexts = [{e.context for e in part} for part in parts]
    assert all(not a & b for i, a in enumerate(contexts) for b in contexts[:i])
    assert max(map(len, parts)) <= 2 * min(map(len, parts))
    assert len(divided(mine[:1], PARTS, seed=0)) == 1


def test_every_question_is_asked_of_a_reader_that_was_not_trained_on_it(
    recipe: Callable[..., Any],
    mine: list[Example],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trained: list[set[str]] = []
    prepare = cross_validation.prepare

    def noted(*given: Any) -> Any:
        data = prepare(*given)
        trained.append({e.context for e in data.train.examples})
        held_out = {e.context for e in data.held_out.examples}
        assert not trained[-1] & held_out
        assert trained[-1] | held_out == {e.context for e in mine}
        return data

    monkeypatch.setattr(cross_validation, "prepare", noted)
    reader = train_reader(recipe(), tmp_path / "run", resume=False)
    assert len(trained) == PARTS
    assert reader.metrics["dev"]["total"] == len(mine)  # all of them are scored
    assert reader.calibration.questions == len(mine)
    share = sum(not e.answers for e in mine) / len(mine)
    assert reader.calibration.unanswerable_share == pytest.approx(share, abs=0.02)
    left = {path.name for path in (tmp_path / "run").iterdir()}
    assert not {name for name in left if name.startswith(("checkpoint", "part", "best"))}


def test_the_start_is_kept_if_no_epoch_is_better(
    recipe: Callable[..., Any], tmp_path: Path
) -> None:
    learns_nothing = recipe("training.learning_rate=1e-12", "training.ema=0")
    reader = train_reader(learns_nothing, tmp_path / "run", resume=False)
    assert reader.metrics["kept_epoch"] == 0
    before, after = weights_of(Reader.load(tmp_path / "start")), weights_of(reader)
    assert all(torch.equal(before[name], after[name]) for name in before)


def weights_of(reader: Any) -> dict[str, torch.Tensor]:
    return reader.scorer.module.state_dict()  # type: ignore[no-any-return]


def test_an_interrupted_one_gives_the_same_weights(
    recipe: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train_reader(recipe(), tmp_path / "whole", resume=False)
    run, runs = TrainingLoop.run, []

    def interrupted(self: TrainingLoop) -> Any:
        runs.append(self)
        if len(runs) == 2:
            raise KeyboardInterrupt
        return run(self)

    with monkeypatch.context() as patch:
        patch.setattr(TrainingLoop, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train_reader(recipe(), tmp_path / "run", resume=False)
    resumed = train_reader(recipe(), tmp_path / "run", resume=True)
    assert resumed.calibration == whole.calibration
    one, other = weights_of(whole), weights_of(resumed)
    assert all(torch.equal(one[name], other[name]) for name in one)
    # A finished run has nothing to resume: its reader is loaded.
    assert train_reader(recipe(), tmp_path / "run", resume=True).calibration == whole.calibration
