"""The small reader with NormSoftmax in attention and in the loss."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

from readlet.inference.reader import Reader
from readlet.models.config import Attention, Loss, norm_gamma
from readlet.models.qacnn.network import QACNN
from readlet.models.qacnn.recipe import QacnnModel, QacnnRecipe
from readlet.models.recipe_files import load_recipe, recipe_of
from readlet.models.torch_scorer import SpanLearner
from readlet.nn.softmax import masked_softmax, norm_softmax
from readlet.text.arrays import shapes
from readlet.text.rows import Windows
from readlet.text.tensors import FormTables, word_batches
from readlet.text.word_features import Vocabulary, encode
from readlet.training.train import train_reader
from readlet.types import Example, Span

KNOWN = Vocabulary(("blue", "sky"), ("the", "is"), characters="abcde", max_characters=8)
EXAMPLES = [
    Example("1", "what is blue", "the sky is blue", (Span(0, "the sky"),)),
    Example("2", "what is it", "it is the very blue sky over the sea", (Span(6, "the very"),)),
]
WINDOWS = Windows(32, 8, 16)
LISTED = shapes(WINDOWS, null=False)
MODEL = QacnnModel(
    width=16, heads=2, head_width=8, feed_forward=16, blocks=1, character_filters=4, dropout=0.0
)


def build(attention: str, loss: str) -> QACNN:
    torch.manual_seed(0)
    rows = KNOWN.trainable_rows
    frozen = torch.cat([torch.zeros(rows, 6), torch.randn(len(KNOWN.frozen), 6)])
    recipe = QacnnRecipe.model_validate(
        {
            "model": MODEL.model_dump(),
            "attention": {"softmax": attention},
            "loss": {"softmax": loss},
        }
    )
    return QACNN(recipe.config(null_answer=False), frozen, rows, KNOWN.character_count).eval()


@pytest.mark.parametrize(("attention", "loss"), [("norm", "standard"), ("norm", "norm")])
def test_padding_and_batch_composition_change_nothing(attention: str, loss: str) -> None:
    model = build(attention, loss)
    features = encode(EXAMPLES, KNOWN, WINDOWS)
    tables = FormTables(features)
    (together,) = word_batches(features, LISTED, 2, null=False)
    with torch.no_grad():
        both = model(together, tables)
        for batch in word_batches(features, LISTED, 1, null=False):
            alone = model(batch, tables)
            place = together.rows.tolist().index(int(batch.rows[0]))
            keep = alone.allowed[0]
            assert torch.allclose(alone.start[0][keep], both.start[place][keep], atol=1e-5)
            assert torch.allclose(alone.end[0][keep], both.end[place][keep], atol=1e-5)


def test_scores_of_the_norm_loss_are_normalised() -> None:
    """So that softmax of the scores, wherever it is taken, is NormSoftmax of the logits."""
    features = encode(EXAMPLES, KNOWN, WINDOWS)
    (batch,) = word_batches(features, LISTED, 2, null=False)
    with torch.no_grad():
        plain = build("standard", "standard")(batch, FormTables(features))
        norm = build("standard", "norm")(batch, FormTables(features))
    wanted = norm_softmax(plain.start, plain.allowed)
    assert torch.allclose(masked_softmax(norm.start, norm.allowed), wanted, atol=1e-6)


def test_every_parameter_gets_a_gradient(over_tables: Callable[..., nn.Module]) -> None:
    model = build("norm", "norm").train()
    features = encode(EXAMPLES, KNOWN, WINDOWS)
    (batch,) = word_batches(features, LISTED, 2, null=False)
    SpanLearner(over_tables(model, FormTables(features)), 0.0)(batch).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().sum() > 0, name


def test_gamma_by_name_and_number() -> None:
    assert norm_gamma(Attention(), 16) is None
    assert norm_gamma(Attention(softmax="norm"), 16) == 4.0
    assert norm_gamma(Loss(softmax="norm"), 16) == math.inf
    assert norm_gamma(Loss(softmax="norm", gamma=2.5), 16) == 2.5


def test_train_save_and_load(small_training: list[str], tmp_path: Path) -> None:
    changes = [*small_training, "training.epochs=1", "attention.softmax=norm", "loss.softmax=norm"]
    reader = train_reader(load_recipe("tiny", changes), tmp_path / "run", resume=False)
    again = Reader.load(tmp_path / "run")
    assert (
        recipe_of(again.recipe).attention.softmax == recipe_of(again.recipe).loss.softmax == "norm"
    )
    context = "The kettle was patented in 1891 by a smith."
    predictions = [r.answer("When was it patented?", context) for r in (reader, again)]
    assert predictions[0] == predictions[1]
