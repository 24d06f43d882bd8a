"""A training loop that takes seconds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from torch import nn

from readlet.encoding.batches import Batches, FormTables, shapes
from readlet.fitting.train import build_model
from readlet.fitting.training_data import prepare
from readlet.models.span_loss import SpanLoss
from readlet.recipe.recipe_files import load_recipe
from readlet.training.loop import Exam, Scores, TrainingLoop
from readlet.training.processes import make_accelerator


def _no_scores() -> Scores:
    return {"exact": 0.0, "f1": 0.0}


@pytest.fixture(scope="session")
def make_loop(small_training: list[str]) -> Callable[..., TrainingLoop]:
    """The loop of `readlet train` with a model of your choice around the real one.

    15 steps an epoch unless the batch size is changed.
    """

    def make(
        folder: Path,
        *changes: str,
        wrap: Callable[[nn.Module], nn.Module] = lambda module: module,
        evaluate: Callable[[], Scores] = _no_scores,
        decisive: str = "f1",
    ) -> TrainingLoop:
        usual = ["training.batch_size=8", "training.epochs=1"]
        recipe = load_recipe("tiny", [*small_training, *usual, *changes])
        corpus = prepare(recipe)
        listed = shapes(recipe.data.max_context, recipe.data.max_question, null=True)
        settings = recipe.training
        batches = Batches(corpus.train, listed, settings.batch_size, null=True, seed=settings.seed)
        module: Any = SpanLoss(
            build_model(recipe, corpus), FormTables(corpus.train), settings.label_smoothing
        )
        folder.mkdir(exist_ok=True)
        exam = Exam(lambda epoch: evaluate(), decisive, str)
        return TrainingLoop(wrap(module), batches, settings, folder, exam, make_accelerator())

    return make
