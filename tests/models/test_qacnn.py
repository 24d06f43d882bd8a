"""QACNNnet as a whole: its size, and that neither padding nor company changes what it says."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from readlet.encoding.batches import PADDING, Batch, Batches, FormTables, shapes
from readlet.encoding.features import PADDING_FORM, Windows, encode
from readlet.encoding.vocabulary import Vocabulary
from readlet.models.qacnn import QACNN, SpanScores, count_parameters
from readlet.models.span_loss import SpanLoss, span_loss
from readlet.recipe import Model, Recipe, load_recipe
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
EXAMPLES = [
    Example("short", "Who lit the lamp?", LAMP[:36], (Span(32, "Ada"),)),
    Example("long", "What was dear?", LAMP, (Span(37, "Oil"),)),
    Example("none", "Who sold it, by the way?", LAMP[37:]),
    Example("no question", "", "the lamp"),
]
MAX_CONTEXT, MAX_QUESTION = 30, 10


def recipe(**changes: Any) -> Recipe:
    return Recipe(model=Model.model_validate(TINY | changes))


def build(width: int = 7, **changes: Any) -> QACNN:
    rows = KNOWN.trainable_rows
    frozen = torch.cat([torch.zeros(rows, width), torch.randn(len(KNOWN.frozen), width)])
    return QACNN(recipe(**changes), frozen, rows, KNOWN.character_count)


def batch_of(*examples: Example, null: bool = True) -> tuple[Batch, FormTables]:
    """All of them in one batch, in order, padded to the longest shape."""
    features = encode(examples, KNOWN, Windows(MAX_CONTEXT, 5, MAX_QUESTION))
    listed = shapes(MAX_CONTEXT, MAX_QUESTION, null=null)
    batches = Batches(features, listed, len(examples), null=null)
    ((shape, rows),) = batches.in_order()
    return batches.make(shape, rows), FormTables(features)


def trimmed(batch: Batch, row: int) -> Batch:
    """One row alone with its own forms, unpadded (but for one place if there is no question)."""
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


def padded(batch: Batch, context: int, question: int) -> Batch:
    return replace(
        batch,
        context=F.pad(batch.context, (0, context)),
        question=F.pad(batch.question, (0, question)),
    )


@pytest.mark.parametrize(
    ("name", "low", "high"), [("qacnn-paper", 2.0e6, 2.1e6), ("qacnn", 0.5e6, 2.0e6)]
)
def test_parameter_count(name: str, low: float, high: float) -> None:
    chosen = load_recipe(name)
    model = QACNN(chosen, torch.zeros(50_003, 300), 3, 1_300)
    assert low < count_parameters(model) < high
    # Frozen vectors are stored with the model, and are none of its parameters.
    assert model.state_dict()["embedding.frozen"].shape == (50_003, 300)
    assert all(parameter.shape[0] != 50_003 for parameter in model.parameters())


@pytest.mark.parametrize("match", [False, True])
@pytest.mark.parametrize("null", [False, True])
def test_padding_and_company_change_nothing(match: bool, null: bool) -> None:
    """Law 3, for the whole model."""
    model = build(match_features=match).eval()
    batch, tables = batch_of(*EXAMPLES, null=null)
    together = model(batch, tables)
    longer = model(padded(batch, 17, 9), tables)
    assert torch.equal(together.keep, batch.context != 0)
    for row in range(len(EXAMPLES)):
        alone = model(trimmed(batch, row), tables)
        words = alone.start.shape[1]
        assert words == together.keep[row].sum()
        for side in ("start", "end"):
            expected = getattr(alone, side)[0]
            assert expected.std() > 1e-3  # not the same everywhere
            for other in (together, longer):
                got = getattr(other, side)[row, :words]
                torch.testing.assert_close(got, expected, rtol=0, atol=1e-4)


def test_the_order_of_the_batch_does_not_matter() -> None:
    model = build().eval()
    batch, tables = batch_of(*EXAMPLES)
    rows = {name: t.flip(0) for name, t in vars(batch).items() if name != "forms"}
    turned = replace(batch, **rows)
    torch.testing.assert_close(
        model(turned, tables).start.flip(0), model(batch, tables).start, rtol=0, atol=1e-5
    )


def in_room(batch: Batch, more: int) -> Batch:
    """The same texts, with room for so many forms more than there are."""
    used = int(max(batch.context.max(), batch.question.max())) + 1
    return replace(batch, forms=F.pad(batch.forms[:used], (0, more), value=PADDING_FORM))


def reordered(batch: Batch) -> Batch:
    """The same texts, with the forms (but for padding) in another order."""
    count = len(batch.forms)
    order = torch.cat([torch.zeros(1, dtype=torch.long), torch.arange(1, count).flip(0)])
    # It turns places round: its own inverse.
    return replace(
        batch,
        forms=batch.forms[order],
        context=order[batch.context],
        question=order[batch.question],
    )


@pytest.mark.parametrize("read_once", [False, True])
def test_room_and_order_of_the_forms_change_nothing(read_once: bool) -> None:
    model = build(dropout=0.0, character_dropout=0.0, last_survival=1.0)
    batch, tables = batch_of(*EXAMPLES)
    if read_once:
        model.read_characters(tables)
        assert tables.character_vectors is not None
        tables.character_vectors = tables.character_vectors.clone()  # may be part of a loss

    def told(batch: Batch) -> list[Tensor]:
        model.zero_grad()
        scores = model(batch, tables)
        span_loss(scores, batch, 0.1).backward()
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        return [scores.start, scores.end, *(g.clone() for g in gradients)]

    expected = told(in_room(batch, 0))
    assert expected[0].std() > 1e-3
    others = [batch, in_room(batch, 1), in_room(batch, 200), reordered(batch)]
    assert len({len(other.forms) for other in others}) == 3
    assert not torch.equal(reordered(batch).context, batch.context)
    for other in others:
        torch.testing.assert_close(told(other), expected, rtol=1e-4, atol=1e-5)


def test_every_place_gets_the_vectors_of_its_form() -> None:
    """Word vector, characters and match, looked up place by place."""
    model = build().eval()
    batch, tables = batch_of(*EXAMPLES)
    projected: list[Tensor] = []
    read: list[Tensor] = []
    embedding = model.embedding
    embedding.project.register_forward_pre_hook(lambda _, given: projected.append(given[0]))
    hook = embedding.characters.register_forward_pre_hook(lambda _, given: read.append(given[0]))
    model(batch, tables)
    hook.remove()
    (got,) = projected
    texts = torch.cat([batch.context, batch.question], dim=1)
    assert got.shape[:2] == texts.shape
    # Every form once, however often it stands in the texts.
    assert [len(characters) for characters in read] == [len(batch.forms)]
    assert len(batch.forms) < texts.numel()
    kinds = set()
    for row, places in enumerate(texts.tolist()):
        asked = {int(tables.keys[batch.forms[place]]) for place in batch.question[row] if place}
        for i, place in enumerate(places):
            form = int(batch.forms[place])
            word = int(tables.words[form])
            is_trainable = word < KNOWN.trainable_rows
            vector = embedding.trainable.weight[word] if is_trainable else embedding.frozen[word]
            characters = embedding.characters(tables.characters[form])
            is_word = i < batch.context.shape[1] and place != PADDING
            match = is_word and int(tables.keys[form]) in asked
            expected = torch.cat([vector, characters, torch.tensor([float(match)])])
            torch.testing.assert_close(got[row, i], expected, rtol=0, atol=1e-5)
            kinds.add((is_trainable, match))
    assert len(kinds) == 4  # all of them were there


def test_the_same_blocks_run_three_times() -> None:
    """Start from [M0; M1], end from [M0; M2]."""
    model = build(blocks=2).eval()
    passes: list[Tensor] = []
    model.blocks[-1].register_forward_hook(lambda _, __, made: passes.append(made))
    batch, tables = batch_of(*EXAMPLES)
    scores = model(batch, tables)
    m0, m1, m2 = passes
    assert not torch.allclose(m1, m2, atol=1e-3)
    for got, layer, second in ((scores.start, model.start, m1), (scores.end, model.end, m2)):
        expected = torch.cat([m0, second], dim=-1) @ layer.weight[0]
        torch.testing.assert_close(got, expected)


def test_start_and_end_read_words_in_order() -> None:
    """The same words in another order get other scores: position reaches the output."""
    model = build().eval()
    batch, tables = batch_of(EXAMPLES[1], null=False)
    kept = int((batch.context != 0).sum())
    turned = replace(batch, context=batch.context[:, :kept].flip(1))
    before, after = model(batch, tables), model(turned, tables)
    assert not torch.allclose(before.start[:, :kept], after.start.flip(1), atol=1e-3)
    assert not torch.allclose(before.start, before.end, atol=1e-3)


@pytest.mark.parametrize("match", [False, True])
def test_every_parameter_learns(match: bool) -> None:
    """Law 5, through the loss that training uses."""
    model = build(match_features=match, dropout=0.0, character_dropout=0.0, last_survival=1.0)
    batch, tables = batch_of(*EXAMPLES[:3])
    loss = SpanLoss(model, tables, 0.1)(batch)
    assert loss.dim() == 0
    loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.abs().sum() > 0, name
    gradient = model.embedding.trainable.weight.grad
    assert gradient is not None
    moved = gradient.abs().sum(1) > 0  # padding, unknown, null, lamp, oil
    assert moved.tolist() == [False, True, True, True, True]


def test_a_few_steps_lower_the_loss() -> None:
    model = build(dropout=0.0, character_dropout=0.0, last_survival=1.0)
    batch, tables = batch_of(*EXAMPLES[:3])
    module = SpanLoss(model, tables, 0.0)
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


class Largest(TorchDispatchMode):
    """Remembers the largest tensor that any operation makes, in bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.size = 0
        self.shape: tuple[int, ...] = ()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        for tensor in made if isinstance(made, tuple | list) else [made]:
            # Of its storage: an expanded view holds fewer numbers than its shape says.
            if isinstance(tensor, Tensor) and tensor.untyped_storage().nbytes() > self.size:
                self.size = tensor.untyped_storage().nbytes()
                self.shape = tuple(tensor.shape)
        return made


def test_all_pairs_are_never_spread_out() -> None:
    """(B, Lc, Lq, 3 D) would be by far the largest tensor, forwards and backwards."""
    context, question, width = 120, 40, 32
    model = QACNN(
        recipe(width=width, character_width=4, character_filters=4),
        torch.zeros(9, 8),
        KNOWN.trainable_rows,
        KNOWN.character_count,
    )
    batch, tables = batch_of(*EXAMPLES[:2])
    batch = padded(batch, context - batch.context.shape[1], question - batch.question.shape[1])
    with Largest() as largest:
        span_loss(model(batch, tables), batch, 0.0).backward()
    pairs = len(batch.rows) * context * question * 4  # bytes of one float32 for every pair
    assert largest.size >= len(batch.rows) * context * width * 4  # it did look
    assert largest.size < pairs * width / 2, largest.shape


def match_of(model: QACNN, batch: Batch, tables: FormTables) -> tuple[Tensor, Tensor]:
    """The match features that the embedding is given: the context's, and the question's."""
    seen: list[Tensor] = []
    hook = model.embedding.register_forward_pre_hook(lambda _, given: seen.append(given[2]))
    model(batch, tables)
    hook.remove()
    context, question = batch.context.shape[1], batch.question.shape[1]
    (both,) = seen
    on_context, on_question = both.split([context, question], dim=1)
    return on_context, on_question


def test_match_tells_which_context_words_the_question_repeats() -> None:
    example = Example("m", "WHO lit Ada’s lamp ?", "ada's tall Lamp was who lit it")
    batch, tables = batch_of(example, EXAMPLES[3], null=True)
    context, question = match_of(build().eval(), batch, tables)
    # The null place; ada, 's, tall, Lamp, was, who, lit, it; then padding.
    assert context[0, :9].tolist() == [False, True, True, False, True, False, True, True, False]
    assert not context[0, 9:].any()  # padding of both is equal, and no match
    assert not context[1].any()  # no question, no match
    assert not question.any()


def test_match_reaches_the_scores_only_where_it_is_wanted() -> None:
    """Forms with the same word and characters but other keys differ in the match alone."""
    batch, tables = batch_of(*EXAMPLES[:2])
    blind = FormTables.__new__(FormTables)
    nn.Module.__init__(blind)
    for name in ("words", "characters"):
        blind.register_buffer(name, getattr(tables, name))
    blind.register_buffer("keys", torch.zeros_like(tables.keys))
    with_match, without = build().eval(), build(match_features=False).eval()
    assert not torch.allclose(
        with_match(batch, tables).start, with_match(batch, blind).start, atol=1e-4
    )
    assert torch.equal(without(batch, tables).start, without(batch, blind).start)


def test_bfloat16_gives_finite_scores_and_gradients() -> None:
    model = build().train()
    batch, tables = batch_of(*EXAMPLES)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        scores = model(batch, tables)
        loss = span_loss(scores, batch, 0.0)
    assert scores.start.dtype == scores.end.dtype == loss.dtype == torch.float32
    assert torch.isfinite(scores.start).all()
    assert torch.isfinite(scores.end).all()
    loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name


def test_bfloat16_is_near_float32() -> None:
    model = build().eval()
    batch, tables = batch_of(*EXAMPLES)
    exact = model(batch, tables)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = model(batch, tables)
    torch.testing.assert_close(mixed.start, exact.start, rtol=0.1, atol=0.1)


def plain_loss(scores: SpanScores, batch: Batch, smoothing: float) -> float:
    """Row by row with an ordinary softmax over the kept places."""
    total = 0.0
    for row, weight in enumerate(batch.weight.tolist()):
        for side, values in enumerate((scores.start, scores.end)):
            log_p = values[row][scores.keep[row]].log_softmax(0)
            if weight:
                gold = float(log_p[int(batch.labels[row, side])])
                spread = float(log_p.mean())
                total -= weight * ((1 - smoothing) * gold + smoothing * spread)
    return total


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_loss(smoothing: float) -> None:
    batch, _ = batch_of(*EXAMPLES)
    keep = batch.context != 0
    scores = SpanScores(torch.randn(keep.shape), torch.randn(keep.shape), keep)
    got = span_loss(scores, batch, smoothing)
    assert float(got) == pytest.approx(plain_loss(scores, batch, smoothing), rel=1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_filler_rows_are_harmless(smoothing: float) -> None:
    features = encode(EXAMPLES[:2], KNOWN, Windows(MAX_CONTEXT, 5, MAX_QUESTION))
    listed = shapes(MAX_CONTEXT, MAX_QUESTION, null=True)
    full, filled = (Batches(features, listed, size, null=True) for size in (2, 5))
    model, tables = build(dropout=0.0, character_dropout=0.0).eval(), FormTables(features)
    module = SpanLoss(model, tables, smoothing)
    expected = module(full.make(*full.in_order()[0]))
    got = module(filled.make(*filled.in_order()[0]))
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-5)
    got.backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


def test_parts_of_a_batch_give_the_gradient_of_the_whole() -> None:
    model = build(dropout=0.0, character_dropout=0.0, last_survival=1.0)
    batch, tables = batch_of(*EXAMPLES)
    module = SpanLoss(model, tables, 0.0)

    def gradient(run: Callable[[], Tensor]) -> Tensor:
        model.zero_grad()
        run().backward()
        return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])

    whole = gradient(lambda: module(batch))
    parts = [gradient(lambda i=i: module(batch.part(i, 2))) for i in range(2)]
    torch.testing.assert_close((parts[0] + parts[1]) / 2, whole, rtol=1e-4, atol=1e-5)


def test_characters_read_once_change_nothing(random_reader: Callable[..., Any]) -> None:
    reader = random_reader("lamp hill wick light ship rock", null=True)
    examples = [Example("a", "lamp ship", "rock wick hill unseen light lamp")]
    features = encode(examples, reader.vocabulary, Windows(12, 4, 6))
    batches = Batches(features, shapes(12, 6, null=True), 2, null=True)
    tables = FormTables(features)
    (batch,) = batches
    with torch.inference_mode():
        expected = reader.model(batch, tables)
        reader.model.read_characters(tables)
        assert tables.character_vectors is not None
        found = reader.model(batch, tables)
    torch.testing.assert_close(found.start, expected.start)
    torch.testing.assert_close(found.end, expected.end)


def test_a_fresh_reader_sees_which_words_are_alike() -> None:
    """Similarity must begin with likeness: an alignment that starts as noise is hardly learnt."""
    torch.manual_seed(0)
    words = [f"word{number}" for number in range(60)]
    vocabulary = Vocabulary((), tuple(words), "".join(sorted(set("".join(words)))), 16)
    rows = vocabulary.trainable_rows
    frozen = torch.cat([torch.zeros(rows, 150), 0.4 * torch.randn(len(words), 150)])  # as GloVe
    model = QACNN(load_recipe("qacnn"), frozen, rows, vocabulary.character_count).eval()
    order = torch.randperm(60)
    context = " ".join(words[i] for i in order.tolist())
    question = " ".join(words[i] for i in torch.randperm(60)[:12].tolist())
    features = encode([Example("a", question, context)], vocabulary, Windows(100, 20, 20))
    (batch,) = Batches(features, shapes(100, 20, null=False), 1, null=False)
    seen: list[Tensor] = []
    similarity = model.attention.similarity

    def spy(context: Tensor, question: Tensor) -> Tensor:
        seen.append(similarity(context, question))
        return seen[-1]

    model.attention.similarity = spy  # type: ignore[method-assign]
    with torch.no_grad():
        model(batch, FormTables(features))
    scores = seen[0][0, :60, :12]  # (60, 12)
    alike = batch.context[0, :60, None] == batch.question[0, None, :12]
    gap = (scores[alike].mean() - scores[~alike].mean()) / scores[~alike].std()
    assert alike.sum() == 12
    assert gap > 1.0
