"""A small reader without characters."""

from collections.abc import Callable

import torch
from torch import nn

from readlet.models.qacnn.network import QACNN
from readlet.models.qacnn.recipe import QacnnModel, QacnnRecipe
from readlet.models.torch_scorer import SpanLearner
from readlet.text.arrays import shapes
from readlet.text.rows import Windows
from readlet.text.tensors import FormTables, word_batches
from readlet.text.word_features import Vocabulary, encode
from readlet.types import Example, Span

KNOWN = Vocabulary(
    trainable=("blue", "sky"), frozen=("the", "is"), characters="abcde", max_characters=8
)
WINDOWS = Windows(32, 8, 16)
EXAMPLE = Example("1", "what is blue", "the sky is blue", (Span(0, "the sky"),))


def build() -> QACNN:
    torch.manual_seed(0)
    rows = KNOWN.trainable_rows
    frozen = torch.cat([torch.zeros(rows, 6), torch.randn(len(KNOWN.frozen), 6)])
    chosen = QacnnModel(
        width=16, heads=2, head_width=8, feed_forward=16, blocks=1, character_filters=0
    )
    return QACNN(QacnnRecipe(model=chosen), frozen, rows, KNOWN.character_count)


def test_it_learns_and_has_no_weights_for_characters(
    over_tables: Callable[..., nn.Module],
) -> None:
    model = build()
    assert not [name for name, _ in model.named_parameters() if "characters" in name]
    features = encode([EXAMPLE], KNOWN, WINDOWS)
    (batch,) = word_batches(features, shapes(WINDOWS, null=False), 1, null=False)
    loss = SpanLearner(over_tables(model, FormTables(features)), 0.0)(batch)
    loss.backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_precomputed_character_vectors_change_nothing() -> None:
    model = build().eval()
    features = encode([EXAMPLE], KNOWN, WINDOWS)
    (batch,) = word_batches(features, shapes(WINDOWS, null=False), 1, null=False)
    tables = FormTables(features)
    with torch.no_grad():
        plain = model(batch, tables)
        model.read_characters(tables)
        again = model(batch, tables)
    assert torch.equal(plain.start, again.start)
    assert torch.equal(plain.end, again.end)
