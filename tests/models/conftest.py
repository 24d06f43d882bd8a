"""A tiny QACNNnet, and batches of a few questions about a lamp."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from readlet.models.config import Attention, Loss
from readlet.models.qacnn.network import QACNN
from readlet.models.qacnn.recipe import QacnnModel, QacnnRecipe
from readlet.models.torch_scorer import SpanLogits
from readlet.text.arrays import shapes
from readlet.text.rows import Windows
from readlet.text.tensors import FormTables, WordBatch, word_batches
from readlet.text.word_features import Vocabulary, encode
from readlet.types import Example, Span

TINY = {
    "width": 8,
    "character_width": 5,
    "character_filters": 6,
    "blocks": 2,
    "convolutions": 2,
    "embedding_convolutions": 2,
    "heads": 2,
    "head_width": 4,
    "feed_forward": 8,
}
KNOWN = Vocabulary(("lamp", "oil"), ("the", "cape", "by", "was"), "abcdeilmpty", 6)
LAMP = "The lamp at the cape was lit by Ada. Oil was dear, and the lamp was tall."
MAX_CONTEXT, MAX_QUESTION = 30, 10


@pytest.fixture(scope="session")
def known() -> Vocabulary:
    """The vocabulary of the tiny model."""
    return KNOWN


@pytest.fixture(scope="session")
def examples() -> list[Example]:
    """A short context, a long one, a question without an answer, and an empty question."""
    return [
        Example("short", "Who lit the lamp?", LAMP[:36], (Span(32, "Ada"),)),
        Example("long", "What was dear?", LAMP, (Span(37, "Oil"),)),
        Example("none", "Who sold it, by the way?", LAMP[37:]),
        Example("no question", "", "the lamp"),
    ]


@pytest.fixture(scope="session")
def build() -> Callable[..., QACNN]:
    """An untrained model of tiny width, with some fields of its recipe changed."""

    def make(
        word_width: int = 7,
        *,
        null: bool = True,
        attention: str = "standard",
        loss: str = "standard",
        **changes: Any,
    ) -> QACNN:
        recipe = QacnnRecipe(
            model=QacnnModel.model_validate(TINY | changes),
            attention=Attention.model_validate({"softmax": attention}),
            loss=Loss.model_validate({"softmax": loss}),
        )
        rows, listed = KNOWN.trainable_rows, len(KNOWN.frozen)
        frozen = torch.cat([torch.zeros(rows, word_width), torch.randn(listed, word_width)])
        return QACNN(
            recipe.config(null_answer=null), frozen, rows, KNOWN.character_count, null=null
        )

    return make


@pytest.fixture(scope="session")
def over_tables() -> Callable[[QACNN, FormTables], nn.Module]:
    """A model with the tables of its data: a batch in, scores out."""

    class OverTables(nn.Module):
        def __init__(self, model: QACNN, tables: FormTables) -> None:
            super().__init__()
            self.model, self.tables = model, tables

        def forward(self, batch: WordBatch) -> SpanLogits:
            return self.model(batch, self.tables)

    return OverTables


@pytest.fixture(scope="session")
def batch_of() -> Callable[..., tuple[WordBatch, FormTables]]:
    """All of the examples in one batch, in order, padded to the longest shape."""

    def make(
        *examples: Example, null: bool = True, size: int | None = None
    ) -> tuple[WordBatch, FormTables]:
        windows = Windows(MAX_CONTEXT, 5, MAX_QUESTION)
        features = encode(examples, KNOWN, windows)
        listed = shapes(windows, null=null)
        batches = word_batches(features, listed, size or len(examples), null=null)
        ((shape, rows),) = batches.in_order()
        return batches.make(shape, rows), FormTables(features)

    return make
