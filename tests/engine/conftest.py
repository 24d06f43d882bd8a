"""A training loop that takes seconds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn

from readlet.engine.loop import Evaluator, Scores, TrainingLoop
from readlet.engine.processes import make_accelerator
from readlet.models.recipe_files import load_recipe
from readlet.models.torch_scorer import Teacher
from readlet.recipe.recipe import Training
from readlet.text.arrays import Batches
from readlet.text.rows import Rows
from readlet.training.train import objective_of
from readlet.training.training_data import prepare


class Parts(NamedTuple):
    """The inputs of the engine: the loss of a small reader on real questions."""

    settings: Training
    module: nn.Module
    batches: Batches[Any]


def _any_teacher(rows: Rows) -> Teacher:
    """A teacher with random probabilities for every row, and of "no answer"."""
    length = torch.from_numpy(rows.row_window[:, 1]).long()  # (rows,)
    draw = torch.Generator().manual_seed(5)
    start, end = torch.rand(2, int(length.sum()), generator=draw) / 20  # (words of all rows,)
    null = torch.rand(len(rows), 2, generator=draw)  # (rows, 2)
    return Teacher(start, end, length, share=0.5, null=null)


@pytest.fixture(scope="session")
def make_parts(small_training: list[str]) -> Callable[..., Parts]:
    """15 batches per epoch unless the batch size is changed."""

    def make(*changes: str, taught: bool = False) -> Parts:
        usual = ["training.batch_size=8", "training.epochs=1"]
        recipe = load_recipe("tiny", [*small_training, *usual, *changes])
        data, settings = prepare(recipe), recipe.training
        rows, scorer = data.train.rows, objective_of(recipe, None).build(data)
        teacher = _any_teacher(rows) if taught else None
        module = scorer.learner(rows, settings.label_smoothing, teacher)
        return Parts(
            settings, module, scorer.batches(rows, settings.batch_size, seed=settings.seed)
        )

    return make


def _no_scores() -> Scores:
    return {"exact": 0.0, "f1": 0.0}


@pytest.fixture(scope="session")
def make_loop(make_parts: Callable[..., Parts]) -> Callable[..., TrainingLoop]:
    """The loop of `readlet train` with a model of your choice around the real one."""

    def make(
        folder: Path,
        *changes: str,
        wrap: Callable[[nn.Module], nn.Module] = lambda module: module,
        evaluate: Callable[[], Scores] = _no_scores,
        decisive: str = "f1",
        **options: bool,
    ) -> TrainingLoop:
        settings, module, batches = make_parts(*changes)
        folder.mkdir(exist_ok=True)
        evaluator = Evaluator(lambda epoch: evaluate(), decisive, str)
        parts = (wrap(module), batches, settings, folder, evaluator, make_accelerator())
        return TrainingLoop(*parts, **options)

    return make
