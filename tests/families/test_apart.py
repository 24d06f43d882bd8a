"""Readers whose first layers read question and passage apart: what is kept, and what is refused."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from readlet.encoding.remembered import Remembered
from readlet.errors import ReadletError
from readlet.families.encoder_scorer import EncoderScorer
from readlet.fitting.train import build_scorer, train_reader
from readlet.fitting.training_data import prepare
from readlet.models.apart_reader import APART_KINDS, ApartReader
from readlet.reading.inspecting import inspect_answer
from readlet.reading.reader import Reader
from readlet.types import Example

PASSAGE = "Ada Brook lit the lamps of the harbour. Her brother Tom carried the oil in a blue can. "
LONG = PASSAGE * 6  # several windows
QUESTIONS = ("Who lit the lamps?", "What did her brother Tom carry in the blue can that day?")
Recipes = Callable[..., Any]
Trained = Callable[..., tuple[Path, Reader]]


def scorer_of(reader: Reader) -> EncoderScorer:
    assert isinstance(reader.scorer, EncoderScorer)
    return reader.scorer


@pytest.fixture
def reader(encoder_reader: Trained) -> Reader:
    folder, _ = encoder_reader("minilm-like", "model.apart_layers=2", "model.mix=dot")
    return Reader.load(folder, device="cpu")


def states_of(scorer: EncoderScorer, question: str) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Of the passage's tokens after each of the layers; and where they come from."""
    rows = scorer.encoder.encode([Example("1", question, PASSAGE)])
    batches = scorer.batches(rows, 1)
    number = np.array([0], np.int32)
    batch: Any = batches.make(batches.least_shape(number), number)
    with torch.inference_mode():
        states = scorer.module.eval().states(batch)
    return [state[0, int(batch.first[0]) :] for state in states], batch.passage_tokens


@pytest.mark.parametrize("kind", APART_KINDS)
def test_states_of_the_passage_do_not_depend_on_the_question(
    encoder_recipe: Recipes, kind: str
) -> None:
    recipe = encoder_recipe(kind, "model.apart_layers=1", "model.mix=scalar")
    scorer: Any = build_scorer(recipe, prepare(recipe))
    (first, other), tokens = states_of(scorer, QUESTIONS[0])
    (first_again, other_again), tokens_again = states_of(scorer, QUESTIONS[1])
    assert tokens.equal(tokens_again)
    torch.testing.assert_close(first, first_again, rtol=0, atol=0)
    assert not torch.allclose(other, other_again, atol=1e-3)


@pytest.mark.parametrize("kind", APART_KINDS)
def test_layers_and_positions_are_those_of_transformers(encoder_recipe: Recipes, kind: str) -> None:
    """The whole network reads the question alone, or the passage; the first layer is the same."""
    recipe = encoder_recipe(kind, "model.apart_layers=1", "model.mix=scalar")
    scorer: Any = build_scorer(recipe, prepare(recipe))
    module = scorer.module.eval()
    rows = scorer.encoder.encode([Example("1", QUESTIONS[1], PASSAGE)])
    batch = next(iter(scorer.batches(rows, 1)))
    asked = batch.question_tokens, batch.question_types, batch.question_keep
    with torch.inference_mode():
        (mine,) = module.question_states(batch)
        theirs = module.encoder(*asked, all_layers=True)[0]
    torch.testing.assert_close(mine[batch.question_keep], theirs[batch.question_keep])
    # The passage begins after a question of 50 subwords, whatever is asked.
    before = {"roberta": 1, "xlm-roberta": 1}.get(kind, 0)  # one more special token in between
    start = 1 + recipe.data.max_question + 1 + before
    late = module.encoder.network.config.pad_token_id + 1 if before else 0
    positions = late + start + torch.arange(batch.passage_tokens.shape[1]).unsqueeze(0)
    given = {"token_type_ids": batch.passage_types} if module.encoder.reads_types else {}
    with torch.inference_mode():
        (mine,) = module.passage_states(batch)
        theirs = module.encoder.network(
            input_ids=batch.passage_tokens,
            attention_mask=batch.passage_keep.long(),
            position_ids=positions,
            output_hidden_states=True,
            **given,
        ).hidden_states[1]
    torch.testing.assert_close(mine[batch.passage_keep], theirs[batch.passage_keep])


def test_the_second_question_reads_no_passage_again(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = reader.answer(QUESTIONS[0], LONG)
    kept = scorer_of(reader).kept
    assert kept is not None
    windows = kept.made_new
    assert windows > 2
    second = reader.answer(QUESTIONS[1], LONG)
    assert (kept.made_new, kept.used_again) == (windows, windows)
    assert second != first
    # Without anything kept, and by one pass through the network.
    whole = replace(reader, scorer=replace(scorer_of(reader)))
    monkeypatch.setattr(EncoderScorer, "scoring", lambda scorer, rows: scorer.module)
    for question, found in zip(QUESTIONS, (first, second), strict=True):
        wanted = whole.answer(question, LONG)
        assert found.text == wanted.text
        assert found.score == pytest.approx(wanted.score, abs=1e-6)
        assert found.no_answer == pytest.approx(wanted.no_answer, abs=1e-6)
    assert kept.used_again == windows


def test_weights_that_may_change_keep_nothing(encoder_recipe: Recipes) -> None:
    recipe = encoder_recipe("bert", "model.apart_layers=1")
    scorer: Any = build_scorer(recipe, prepare(recipe))
    assert scorer.kept is None
    rows = scorer.encoder.encode([Example("1", QUESTIONS[0], PASSAGE)])
    ((_, before),) = scorer.scores(rows, 1)
    with torch.no_grad():
        for parameter in scorer.module.encoder.parameters():
            parameter.mul_(1.5)
    ((_, after),) = scorer.scores(rows, 1)
    assert not np.allclose(before.start, after.start, atol=1e-2)


def test_what_is_kept_is_bounded(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = scorer_of(reader)
    room = 70 * 2 * 4 * scorer.module.encoder.width  # for 70 tokens: the mix reads both layers
    monkeypatch.setattr("readlet.families.kept_passages.BYTES", room)
    scorer.keep_passages()
    kept = scorer.kept
    assert kept is not None
    passages = [f"{PASSAGE} {name}" for name in ("Ada", "Tom", "Brook", "Ada")]
    for passage in passages:
        reader.answer(QUESTIONS[0], passage)
        states = kept._made.values()
        assert 0 < sum(state.nbytes for state in states) <= room
    assert (kept.made_new, kept.used_again) == (4, 0)  # the first one was dropped before the last


def test_another_device_starts_anew(reader: Reader) -> None:
    reader.answer(QUESTIONS[0], PASSAGE)
    before = scorer_of(reader).kept
    scorer_of(reader).move_to("cpu")
    after = scorer_of(reader).kept
    assert isinstance(after, Remembered)
    assert after is not before
    assert after.made_new == 0


def test_inspected_slimmed_and_in_the_card(reader: Reader, tmp_path: Path) -> None:
    found = inspect_answer(reader, QUESTIONS[0], PASSAGE)
    assert found.layers is not None
    assert found.layers.weights.shape[0] == 3
    context = found.layers.scores[found.layers.first :][: len(found.offsets)]  # (P, 2)
    np.testing.assert_allclose(context, found.scores, atol=1e-5)
    for stored in ("float16", "int8"):
        slim = replace(reader, scorer=scorer_of(reader).slimmed(stored))  # type: ignore[arg-type]
        slim.save(tmp_path / stored)
        loaded = Reader.load(tmp_path / stored, device="cpu")
        assert isinstance(scorer_of(loaded).module, ApartReader)
        assert loaded.answer(QUESTIONS[0], LONG) == slim.answer(QUESTIONS[0], LONG)
    assert "the first 2 layers read the passage alone" in (tmp_path / "int8/README.md").read_text()


def test_norm_softmax_and_dropped_tokens(encoder_recipe: Recipes, tmp_path: Path) -> None:
    norm = "attention.softmax=norm", "loss.softmax=norm", "loss.gamma=1.0"
    recipe = encoder_recipe("bert", "model.apart_layers=1", "model.token_dropout=0.2", *norm)
    reader = train_reader(recipe, tmp_path / "run", resume=False)
    loaded = Reader.load(tmp_path / "run", device="cpu")
    assert loaded.answer(QUESTIONS[0], LONG) == reader.answer(QUESTIONS[0], LONG)


@pytest.mark.parametrize(
    ("kind", "layers", "message"),
    [
        ("albert", 1, "not possible with an encoder of kind 'albert'; give 0, or bert, electra"),
        ("deberta-v2", 1, "not possible with an encoder of kind 'deberta-v2'; give 0, or bert"),
        ("bert", 2, "2; the encoder has 2 layers, and one must read both; give at most 1"),
    ],
)
def test_what_does_not_suit_is_refused_before_any_data_is_read(
    encoder_recipe: Recipes, tmp_path: Path, kind: str, layers: int, message: str
) -> None:
    (tmp_path / "damaged.json").write_text("{")
    changes = f"model.apart_layers={layers}", f'data.train=["{tmp_path}/damaged.json"]'
    recipe = encoder_recipe(kind, *changes)
    with pytest.raises(ReadletError, match=f"^model.apart_layers: {message}") as error:
        train_reader(recipe, tmp_path / "run", resume=False)
    assert "\n" not in str(error.value)


def test_a_reader_is_a_start_with_other_layers_apart(
    encoder_reader: Trained, encoder_recipe: Recipes, tmp_path: Path
) -> None:
    plain, before = encoder_reader("bert")
    recipe = encoder_recipe("bert", f"training.start={plain}", "model.apart_layers=1")
    reader = train_reader(recipe, tmp_path / "apart", resume=False)
    assert isinstance(scorer_of(reader).module, ApartReader)
    assert scorer_of(reader).module.state_dict().keys() == (
        scorer_of(before).module.state_dict().keys()
    )
    # A recipe that does not say how many are apart goes on as the start does.
    recipe = encoder_recipe("bert", f"training.start={tmp_path / 'apart'}")
    again = train_reader(recipe, tmp_path / "again", resume=False)
    assert again.recipe.model.apart_layers == 1
    # Too many are refused, as without a start.
    recipe = encoder_recipe("bert", f"training.start={plain}", "model.apart_layers=2")
    with pytest.raises(ReadletError, match=r"model\.apart_layers: 2; the encoder has 2 layers"):
        train_reader(recipe, tmp_path / "none", resume=False)


def test_every_part_of_a_filler_row_has_something_to_attend_to(reader: Reader) -> None:
    """Attention by cuDNN gives NaN gradients otherwise."""
    scorer: Any = scorer_of(reader)
    batches = scorer.batches(scorer.encoder.encode([Example("1", QUESTIONS[0], PASSAGE)]), 4)
    (batch,) = batches
    assert len(batch.tokens) == 4
    assert batch.question_keep.any(1).all()
    assert batch.passage_keep.any(1).all()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="only a GPU gave NaN")
def test_filler_rows_leave_loss_and_gradients_finite(
    encoder_recipe: Recipes, long_encoder: Path
) -> None:
    changes = ("model.apart_layers=1", f"model.encoder={long_encoder}", "data.max_context=320")
    recipe = encoder_recipe("bert", *changes)
    data = prepare(recipe)
    scorer: Any = build_scorer(recipe, data)
    scorer.module.train()
    learner = scorer.learner(data.train.rows, 0.0, None).cuda()
    batches = scorer.batches(data.train.rows, 32, seed=0)
    (_, numbers), *_ = batches.epoch(0)
    for length in (192, 224, 320, 336):  # of the passage; the first and the third gave NaN
        batch = batches.make((64, length), numbers[:3]).to(torch.device("cuda"))
        with torch.autocast("cuda", torch.bfloat16):
            loss = learner(batch)
        learner.zero_grad()
        loss.backward()
        for found in (loss, *(p.grad for p in learner.parameters() if p.grad is not None)):
            assert torch.isfinite(found).all(), length
