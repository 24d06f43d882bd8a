"""Inside QACNNnet: the inputs of each place, the data flow between the parts, and the match."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor, nn

from readlet.models.qacnn.network import QACNN
from readlet.models.recipe_files import load_recipe
from readlet.text.arrays import PADDING, shapes
from readlet.text.rows import Windows
from readlet.text.tensors import FormTables, WordBatch, word_batches
from readlet.text.word_features import Vocabulary, encode
from readlet.types import Example

Build = Callable[..., QACNN]
BatchOf = Callable[..., tuple[WordBatch, FormTables]]


def test_every_place_gets_the_vectors_of_its_form(
    build: Build, batch_of: BatchOf, examples: list[Example], known: Vocabulary
) -> None:
    """Word vector, characters and match, looked up place by place."""
    model = build().eval()
    batch, tables = batch_of(*examples)
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
    # Every form once, however often it occurs in the texts.
    assert [len(characters) for characters in read] == [len(batch.forms)]
    assert len(batch.forms) < texts.numel()
    kinds = set()
    for row, places in enumerate(texts.tolist()):
        asked = {int(tables.keys[batch.forms[place]]) for place in batch.question[row] if place}
        for i, place in enumerate(places):
            form = int(batch.forms[place])
            word = int(tables.words[form])
            is_trainable = word < known.trainable_rows
            vector = embedding.trainable.weight[word] if is_trainable else embedding.frozen[word]
            characters = embedding.characters(tables.characters[form], tables.languages[form])
            is_word = i < batch.context.shape[1] and place != PADDING
            match = is_word and int(tables.keys[form]) in asked
            expected = torch.cat([vector, characters, torch.tensor([float(match)])])
            torch.testing.assert_close(got[row, i], expected, rtol=0, atol=1e-5)
            kinds.add((is_trainable, match))
    assert len(kinds) == 4  # all of them were there


def test_the_same_blocks_run_three_times(
    build: Build, batch_of: BatchOf, examples: list[Example]
) -> None:
    """Start from [M0; M1], end from [M0; M2]."""
    model = build(blocks=2).eval()
    passes: list[Tensor] = []
    model.blocks[-1].register_forward_hook(lambda _, __, made: passes.append(made))
    batch, tables = batch_of(*examples)
    scores = model(batch, tables)
    m0, m1, m2 = passes
    assert not torch.allclose(m1, m2, atol=1e-3)
    for side, layer, second in ((0, model.start, m1), (1, model.end, m2)):
        expected = torch.cat([m0, second], dim=-1) @ layer.weight[0]
        torch.testing.assert_close(scores[side], expected[:, 1:])
        torch.testing.assert_close(scores.null[:, side], expected[:, 0])


def test_start_and_end_depend_on_word_order(
    build: Build, batch_of: BatchOf, examples: list[Example]
) -> None:
    """The same words in another order get other scores: position reaches the output."""
    model = build(null=False).eval()
    batch, tables = batch_of(examples[1], null=False)
    kept = int((batch.context != 0).sum())
    turned = replace(batch, context=batch.context[:, :kept].flip(1))
    before, after = model(batch, tables), model(turned, tables)
    assert not torch.allclose(before.start[:, :kept], after.start.flip(1), atol=1e-3)
    assert not torch.allclose(before.start, before.end, atol=1e-3)


def match_of(model: QACNN, batch: WordBatch, tables: FormTables) -> tuple[Tensor, Tensor]:
    """The match features that the embedding is given: the context's, and the question's."""
    seen: list[Tensor] = []
    hook = model.embedding.register_forward_pre_hook(lambda _, given: seen.append(given[2]))
    model(batch, tables)
    hook.remove()
    context, question = batch.context.shape[1], batch.question.shape[1]
    (both,) = seen
    on_context, on_question = both.split([context, question], dim=1)
    return on_context, on_question


def test_match_marks_context_words_that_occur_in_the_question(
    build: Build, batch_of: BatchOf, examples: list[Example]
) -> None:
    example = Example("m", "WHO lit Ada’s lamp ?", "ada's tall Lamp was who lit it")
    batch, tables = batch_of(example, examples[3], null=True)
    context, question = match_of(build().eval(), batch, tables)
    # The null place; ada, 's, tall, Lamp, was, who, lit, it; then padding.
    assert context[0, :9].tolist() == [False, True, True, False, True, False, True, True, False]
    assert not context[0, 9:].any()  # padding of both is equal, and no match
    assert not context[1].any()  # no question, no match
    assert not question.any()


def test_match_affects_the_scores_only_if_enabled(
    build: Build, batch_of: BatchOf, examples: list[Example]
) -> None:
    """Forms with the same word and characters but other keys differ in the match alone."""
    batch, tables = batch_of(*examples[:2])
    blind = FormTables.__new__(FormTables)
    nn.Module.__init__(blind)
    for name in ("words", "characters", "languages"):
        blind.register_buffer(name, getattr(tables, name))
    blind.register_buffer("keys", torch.zeros_like(tables.keys))
    with_match, without = build().eval(), build(match_features=False).eval()
    assert not torch.allclose(
        with_match(batch, tables).start, with_match(batch, blind).start, atol=1e-4
    )
    assert torch.equal(without(batch, tables).start, without(batch, blind).start)


def test_an_untrained_reader_aligns_similar_words() -> None:
    """Equal words score high from the start: alignment that starts as noise is hard to learn."""
    torch.manual_seed(0)
    words = [f"word{number}" for number in range(60)]
    vocabulary = Vocabulary((), tuple(words), "".join(sorted(set("".join(words)))), 16)
    rows = vocabulary.trainable_rows
    frozen = torch.cat([torch.zeros(rows, 150), 0.4 * torch.randn(len(words), 150)])  # as GloVe
    model = QACNN(
        load_recipe("qacnn").config(null_answer=False), frozen, rows, vocabulary.character_count
    ).eval()
    order = torch.randperm(60)
    context = " ".join(words[i] for i in order.tolist())
    question = " ".join(words[i] for i in torch.randperm(60)[:12].tolist())
    windows = Windows(100, 20, 20)
    features = encode([Example("a", question, context)], vocabulary, windows)
    (batch,) = word_batches(features, shapes(windows, null=False), 1, null=False)
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
