"""Training of QACNNnet: gradients everywhere, in parts of a batch and in bfloat16 too."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from readlet.inference.reader import Reader
from readlet.models.config import Attention, Loss, norm_gamma
from readlet.models.qacnn.network import QACNN
from readlet.models.recipe_files import load_recipe, recipe_of
from readlet.models.torch_scorer import SpanLearner, span_loss
from readlet.text.tensors import FormTables, WordBatch
from readlet.training.train import train_reader
from readlet.types import Example

Build = Callable[..., QACNN]
BatchOf = Callable[..., tuple[WordBatch, FormTables]]
OverTables = Callable[[QACNN, FormTables], nn.Module]


@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_filler_rows_are_harmless(
    smoothing: float,
    null: bool,
    build: Build,
    batch_of: BatchOf,
    over_tables: OverTables,
    examples: list[Example],
) -> None:
    full, tables = batch_of(*examples[:2], null=null)
    filled, _ = batch_of(*examples[:2], null=null, size=5)
    assert (len(full.rows), len(filled.rows)) == (2, 5)
    model = build(null=null, dropout=0.0, character_dropout=0.0).eval()
    module = SpanLearner(over_tables(model, tables), smoothing)
    expected = module(full)
    got = module(filled)
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-5)
    got.backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


def test_parts_of_a_batch_give_the_gradient_of_the_whole(
    build: Build, batch_of: BatchOf, over_tables: OverTables, examples: list[Example]
) -> None:
    model = build(dropout=0.0, character_dropout=0.0, last_survival=1.0)
    batch, tables = batch_of(*examples)
    module = SpanLearner(over_tables(model, tables), 0.0)

    def gradient(run: Callable[[], Tensor]) -> Tensor:
        model.zero_grad()
        run().backward()
        return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])

    whole = gradient(lambda: module(batch))
    parts = [gradient(lambda i=i: module(batch.part(i, 2))) for i in range(2)]
    torch.testing.assert_close((parts[0] + parts[1]) / 2, whole, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"match_features": False},
        {"character_filters": 0},
        {"attention": "norm", "loss": "norm"},
    ],
)
def test_every_parameter_gets_a_gradient(
    changes: dict[str, Any],
    build: Build,
    batch_of: BatchOf,
    over_tables: OverTables,
    examples: list[Example],
) -> None:
    """Through the loss that training uses."""
    kept = {"dropout": 0.0, "character_dropout": 0.0, "last_survival": 1.0}
    model = build(**kept, **changes)
    batch, tables = batch_of(*examples[:3])
    loss = SpanLearner(over_tables(model, tables), 0.1)(batch)
    assert loss.dim() == 0
    loss.backward()
    names = [name for name, _ in model.named_parameters()]
    assert any("characters" in name for name in names) == (changes != {"character_filters": 0})
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.abs().sum() > 0, name
    gradient = model.embedding.trainable.weight.grad
    assert gradient is not None
    moved = gradient.abs().sum(1) > 0  # padding, unknown, null, lamp, oil
    assert moved.tolist() == [False, True, True, True, True]


def test_a_few_steps_lower_the_loss(
    build: Build, batch_of: BatchOf, over_tables: OverTables, examples: list[Example]
) -> None:
    model = build(dropout=0.0, character_dropout=0.0, last_survival=1.0)
    batch, tables = batch_of(*examples[:3])
    module = SpanLearner(over_tables(model, tables), 0.0)
    optimiser = torch.optim.Adam(model.parameters(), 1e-2)
    frozen = model.embedding.frozen.clone()
    losses = []
    for _ in range(40):
        optimiser.zero_grad()
        loss = module(batch)
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.2 * losses[0]
    assert torch.equal(model.embedding.frozen, frozen)
    assert (model.embedding.trainable.weight[0] == 0).all()


def test_bfloat16_gives_finite_scores_and_gradients(
    build: Build, batch_of: BatchOf, examples: list[Example]
) -> None:
    model = build().train()
    batch, tables = batch_of(*examples)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        scores = model(batch, tables)
        loss = span_loss(scores, batch, 0.0)
    assert scores.start.dtype == scores.end.dtype == loss.dtype == torch.float32
    assert scores.null.dtype == torch.float32
    for part in (scores.start, scores.end, scores.null):
        assert torch.isfinite(part).all()
    loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name


def test_bfloat16_is_near_float32(build: Build, batch_of: BatchOf, examples: list[Example]) -> None:
    model = build().eval()
    batch, tables = batch_of(*examples)
    exact = model(batch, tables)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = model(batch, tables)
    torch.testing.assert_close(mixed.start, exact.start, rtol=0.1, atol=0.1)
    torch.testing.assert_close(mixed.null, exact.null, rtol=0.1, atol=0.1)


def test_gamma_by_name_and_number() -> None:
    assert norm_gamma(Attention(), 16) is None
    assert norm_gamma(Attention(softmax="norm"), 16) == 4.0
    assert norm_gamma(Loss(softmax="norm"), 16) == math.inf
    assert norm_gamma(Loss(softmax="norm", gamma=2.5), 16) == 2.5


def test_with_norm_softmax_train_save_and_load(small_training: list[str], tmp_path: Path) -> None:
    changes = [*small_training, "training.epochs=1", "attention.softmax=norm", "loss.softmax=norm"]
    reader = train_reader(load_recipe("tiny", changes), tmp_path / "run", resume=False)
    again = Reader.load(tmp_path / "run")
    assert (
        recipe_of(again.recipe).attention.softmax == recipe_of(again.recipe).loss.softmax == "norm"
    )
    context = "The kettle was patented in 1891 by a smith."
    predictions = [r.answer("When was it patented?", context) for r in (reader, again)]
    assert predictions[0] == predictions[1]
