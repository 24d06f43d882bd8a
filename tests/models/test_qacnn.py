"""QACNNnet as a whole: its size, and that padding and batch composition change no scores."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from readlet.models.qacnn.network import QACNN
from readlet.models.torch_scorer import span_loss
from readlet.nn.softmax import masked_softmax, norm_softmax
from readlet.text.arrays import shapes
from readlet.text.rows import Windows
from readlet.text.tensors import FormTables, WordBatch, word_batches
from readlet.text.word_features import PADDING_FORM, encode
from readlet.types import Example

Build = Callable[..., QACNN]
BatchOf = Callable[..., tuple[WordBatch, FormTables]]


class Largest(TorchDispatchMode):
    """Records the size of the largest tensor that any operation makes, in bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.size = 0
        self.shape: tuple[int, ...] = ()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        for tensor in made if isinstance(made, tuple | list) else [made]:
            # Of its storage: an expanded view has fewer elements than its shape says.
            if isinstance(tensor, Tensor) and tensor.untyped_storage().nbytes() > self.size:
                self.size = tensor.untyped_storage().nbytes()
                self.shape = tuple(tensor.shape)
        return made


def padded(batch: WordBatch, context: int, question: int) -> WordBatch:
    return replace(
        batch,
        context=F.pad(batch.context, (0, context)),
        question=F.pad(batch.question, (0, question)),
    )


def test_the_array_of_all_pairs_is_never_materialised(
    build: Build, batch_of: BatchOf, examples: list[Example]
) -> None:
    """(B, Lc, Lq, 3 D) would be by far the largest tensor, forwards and backwards."""
    context, question, width = 120, 40, 32
    model = build(word_width=8, width=width, character_width=4, character_filters=4)
    batch, tables = batch_of(*examples[:2])
    batch = padded(batch, context - batch.context.shape[1], question - batch.question.shape[1])
    with Largest() as largest:
        span_loss(model(batch, tables), batch, 0.0).backward()
    pairs = len(batch.rows) * context * question * 4  # bytes of one float32 for every pair
    assert largest.size >= len(batch.rows) * context * width * 4  # it did measure
    assert largest.size < pairs * width / 2, largest.shape


def trimmed(batch: WordBatch, row: int) -> WordBatch:
    """One row alone with its own forms, unpadded (except one place if there is no question)."""
    words = int((batch.context[row] != 0).sum())
    asked = max(int((batch.question[row] != 0).sum()), 1)
    texts = batch.forms[torch.cat([batch.context[row, :words], batch.question[row, :asked]])]
    with_padding = torch.cat([texts.new_tensor([PADDING_FORM]), texts])
    forms, places = torch.unique(with_padding, return_inverse=True)  # sorted: padding is first
    return replace(
        batch,
        rows=batch.rows[row, None],
        forms=forms,
        context=places[None, 1 : 1 + words],
        question=places[None, 1 + words :],
        labels=batch.labels[row, None],
        weight=batch.weight[row, None],
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"match_features": False},
        {"character_filters": 0},
        {"attention": "norm"},
        {"attention": "norm", "loss": "norm"},
    ],
)
@pytest.mark.parametrize("null", [False, True])
def test_padding_and_batch_composition_change_nothing(
    changes: dict[str, Any], null: bool, build: Build, batch_of: BatchOf, examples: list[Example]
) -> None:
    """For the whole model, to rounding."""
    model = build(null=null, **changes).eval()
    batch, tables = batch_of(*examples, null=null)
    together = model(batch, tables)
    longer = model(padded(batch, 17, 9), tables)
    assert torch.equal(together.allowed, (batch.context != 0)[:, int(null) :])
    assert (together.null is not None) == null
    for row in range(len(examples)):
        alone = model(trimmed(batch, row), tables)
        words = alone.start.shape[1]
        assert words == together.allowed[row].sum()
        for other in (together, longer) if null else ():
            torch.testing.assert_close(other.null[row], alone.null[0], rtol=0, atol=1e-4)
        for side in ("start", "end"):
            expected = getattr(alone, side)[0]
            assert expected.std() > 1e-3  # not the same everywhere
            for other in (together, longer):
                got = getattr(other, side)[row, :words]
                torch.testing.assert_close(got, expected, rtol=0, atol=1e-4)


def test_the_order_of_the_batch_does_not_matter(
    build: Build, batch_of: BatchOf, examples: list[Example]
) -> None:
    model = build().eval()
    batch, tables = batch_of(*examples)
    rows = {name: t.flip(0) for name, t in vars(batch).items() if name != "forms"}
    turned = replace(batch, **rows)
    torch.testing.assert_close(
        model(turned, tables).start.flip(0), model(batch, tables).start, rtol=0, atol=1e-5
    )


def test_null_is_the_first_place_and_no_part_of_the_others(
    build: Build, batch_of: BatchOf, examples: list[Example]
) -> None:
    """The same weights, with the first place once as the null place, once as a word."""
    with_null = build(null=True).eval()
    without = build(null=False).eval()
    without.load_state_dict(with_null.state_dict())
    batch, tables = batch_of(*examples)
    found, plain = with_null(batch, tables), without(batch, tables)
    assert plain.null is None
    for side, values in enumerate((plain.start, plain.end)):
        got = (found.start, found.end)[side]
        assert torch.equal(torch.cat([found.null[:, side, None], got], dim=1), values)
    assert torch.equal(found.allowed, plain.allowed[:, 1:])
    assert found.start.shape == found.end.shape == found.allowed.shape
    assert found.null.shape == (len(examples), 2)


def test_scores_of_the_norm_loss_are_normalised(
    build: Build, batch_of: BatchOf, examples: list[Example]
) -> None:
    """So that softmax of the scores, wherever it is taken, is NormSoftmax of the logits."""
    plain, norm = build(null=False).eval(), build(null=False, loss="norm").eval()
    norm.load_state_dict(plain.state_dict())
    batch, tables = batch_of(*examples, null=False)
    logits, scores = plain(batch, tables), norm(batch, tables)
    wanted = norm_softmax(logits.start, logits.allowed)
    assert torch.allclose(masked_softmax(scores.start, scores.allowed), wanted, atol=1e-6)


def with_spare_forms(batch: WordBatch, more: int) -> WordBatch:
    """The same texts, with so many padding forms at the end."""
    used = int(max(batch.context.max(), batch.question.max())) + 1
    return replace(batch, forms=F.pad(batch.forms[:used], (0, more), value=PADDING_FORM))


def reordered(batch: WordBatch) -> WordBatch:
    """The same texts, with the forms (except padding) in another order."""
    count = len(batch.forms)
    order = torch.cat([torch.zeros(1, dtype=torch.long), torch.arange(1, count).flip(0)])
    # It reverses indices: its own inverse.
    return replace(
        batch,
        forms=batch.forms[order],
        context=order[batch.context],
        question=order[batch.question],
    )


@pytest.mark.parametrize("read_once", [False, True])
def test_padding_and_order_of_the_forms_change_nothing(
    read_once: bool, build: Build, batch_of: BatchOf, examples: list[Example]
) -> None:
    model = build(dropout=0.0, character_dropout=0.0, last_survival=1.0)
    batch, tables = batch_of(*examples)
    if read_once:
        model.read_characters(tables)
        assert tables.character_vectors is not None
        tables.character_vectors = tables.character_vectors.clone()  # may be part of a loss

    def scores_and_gradients(batch: WordBatch) -> list[Tensor]:
        model.zero_grad()
        scores = model(batch, tables)
        span_loss(scores, batch, 0.1).backward()
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        return [scores.start, scores.end, scores.null, *(g.clone() for g in gradients)]

    expected = scores_and_gradients(with_spare_forms(batch, 0))
    assert expected[0].std() > 1e-3
    others = [batch, with_spare_forms(batch, 1), with_spare_forms(batch, 200), reordered(batch)]
    assert len({len(other.forms) for other in others}) == 3
    assert not torch.equal(reordered(batch).context, batch.context)
    for other in others:
        got = scores_and_gradients(other)
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)


def test_precomputed_character_vectors_change_nothing(random_reader: Callable[..., Any]) -> None:
    reader = random_reader("lamp hill wick light ship rock", null=True)
    examples = [Example("a", "lamp ship", "rock wick hill unseen light lamp")]
    windows, model = Windows(12, 4, 6), reader.scorer.module.eval()
    features = encode(examples, reader.scorer.encoder.vocabulary, windows)
    tables = FormTables(features)
    (batch,) = word_batches(features, shapes(windows, null=True), 2, null=True)
    with torch.inference_mode():
        expected = model(batch, tables)
        model.read_characters(tables)
        assert tables.character_vectors is not None
        found = model(batch, tables)
    torch.testing.assert_close(found.start, expected.start)
    torch.testing.assert_close(found.end, expected.end)
    torch.testing.assert_close(found.null, expected.null)
