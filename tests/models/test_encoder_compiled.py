"""Compiled layers of encoders, as training on a GPU uses them; here without code generation."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend

from readlet.models.encoder.recipe import EncoderRecipe
from readlet.models.kinds import trainable_family
from readlet.models.recipe_files import recipe_of
from readlet.training.train import objective_of
from readlet.training.training_data import prepare


@pytest.mark.parametrize(
    ("kind", "mix", "backend"),
    [
        ("bert", "dot", "aot_eager"),
        ("albert", "dot", "eager"),  # its layers are those of BERT, but one for all
        ("deberta-v2", "last", "eager"),  # tracing its gradients takes ten seconds
    ],
)
def test_compiled_layers_train_like_others(
    encoder_recipe: Callable[..., EncoderRecipe],
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    mix: str,
    backend: str,
) -> None:
    """What was compiled ahead serves all layers and lengths: nothing is compiled in training."""
    changes = f"model.mix={mix}", "model.dropout=0.0"
    recipe = encoder_recipe(kind, *changes)
    data, family = prepare(recipe), trainable_family("encoder")
    scorer = objective_of(recipe, None).build(data)
    learner = scorer.learner(data.train.rows, 0.0, None).train()
    batches = scorer.batches(data.train.rows, 3, seed=0)
    made = [batches.make(*listed) for listed in batches.epoch(0)]
    assert len(made) > 1

    def gradients() -> list[torch.Tensor]:
        learner.zero_grad()
        sum(learner(batch) for batch in made).backward()
        return [parameter.grad.clone() for parameter in scorer.module.parameters()]

    eager = gradients()
    torch._dynamo.reset()
    counter = CompileCounterWithBackend(backend)
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=counter))
    changed = recipe.training.model_copy(update={"batch_size": 3})
    ahead = recipe.model_copy(update={"training": changed})
    assert family.compile_ahead(ahead, torch.device("cpu"), None)
    before = counter.frame_count
    family.compile(scorer)
    for mine, wanted in zip(gradients(), eager, strict=True):
        torch.testing.assert_close(mine, wanted, rtol=1e-4, atol=1e-6)
    assert counter.frame_count == before
    assert before <= 3
    torch._dynamo.reset()


def test_a_start_reader_is_compiled_without_the_encoder_of_the_recipe(
    encoder_reader: Callable[..., tuple[Path, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, reader = encoder_reader()
    gone = recipe_of(reader.recipe).model.model_copy(update={"encoder": "/no/such/folder"})
    recipe = recipe_of(reader.recipe).model_copy(update={"model": gone})
    torch._dynamo.reset()
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager"))
    family = trainable_family("encoder")
    assert family.compile_ahead(recipe, torch.device("cpu"), reader.scorer)
    torch._dynamo.reset()
