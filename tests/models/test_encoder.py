"""Readers on every kind of encoder and with every mix: trained, resumed, saved and loaded."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from readlet.data import read_examples, write_examples
from readlet.engine.loop import TrainingLoop
from readlet.errors import ReadletError
from readlet.inference.inputs import ALL_ANSWERABLE
from readlet.inference.reader import Reader
from readlet.models.pretrained.encoder import load_pretrained
from readlet.models.recipe_files import recipe_of
from readlet.text.pretrained import load_config
from readlet.text.rows import Rows
from readlet.training.train import objective_of, train_reader
from readlet.training.training_data import prepare
from readlet.types import Example

KINDS = (
    *("bert", "albert", "minilm-like", "electra", "roberta"),
    *("deberta-v2", "distilbert", "xlm-roberta"),
)
MIXES = ("last", "scalar", "scalar-softmax", "dot", "weighted", "encoder")
POSITIONS = 160
Trained = Callable[..., tuple[Path, Reader]]


@pytest.fixture(scope="module")
def examples(few_questions: Path) -> list[Example]:
    """With white space at both ends and in between, and other scripts."""
    odd = "  \tAda   Brook\n\nlit 12 lamps in Café Zoë, 東京 🚀 .  "
    given = list(read_examples(few_questions))
    return [*given, Example("odd", " Who lit it?  ", odd), Example("none", "", "")]


def scores_of(reader: Reader, rows: Rows, batch_size: int) -> dict[int, list[np.ndarray]]:
    """Start, end and null scores of every row, its own places only."""
    found = {}
    for numbers, scores in reader.scorer.scores(rows, batch_size):
        assert scores.null is not None
        for index, row in enumerate(numbers.tolist()):
            count = int(rows.row_window[row, 1])
            assert not scores.allowed[index, count:].any()
            sides = [side[index, :count] for side in (scores.start, scores.end)]
            found[row] = [*sides, scores.null[index]]
    return found


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        *((kind, ()) for kind in KINDS),
        *(("bert", (f"model.mix={mix}",)) for mix in MIXES[1:]),
    ],
)
class TestEveryReader:
    def test_saved_and_loaded_it_has_the_same_scores_to_the_bit(
        self, encoder_reader: Trained, examples: list[Example], kind: str, changes: tuple[str, ...]
    ) -> None:
        folder, reader = encoder_reader(kind, *changes)
        assert reader.scorer.can_abstain
        loaded = Reader.load(folder)
        rows, again = (r.scorer.encoder.encode(examples) for r in (reader, loaded))
        for name, array in rows.stored()[0].items():
            np.testing.assert_array_equal(array, again.stored()[0][name], err_msg=name)
        before, after = (scores_of(r, rows, 4) for r in (reader, loaded))
        assert before.keys() == after.keys() == set(range(len(rows)))
        for row, parts in before.items():
            for part, other in zip(parts, after[row], strict=True):
                np.testing.assert_array_equal(part, other)
        pairs = [(example.question, example.context) for example in examples]
        assert list(loaded.answer_batch(pairs)) == list(reader.answer_batch(pairs))

    def test_answers_are_words_of_the_context(
        self, encoder_reader: Trained, examples: list[Example], kind: str, changes: tuple[str, ...]
    ) -> None:
        _, reader = encoder_reader(kind, *changes)
        pairs = [(example.question, example.context) for example in examples]
        predictions = list(reader.answer_batch(pairs, ALL_ANSWERABLE))
        for prediction, (_, context) in zip(predictions, pairs, strict=True):
            assert len(prediction.n_best) == (5 if context else 0)
            for found in (prediction, *prediction.n_best):
                assert context[found.start : found.end] == found.text
                assert found.text == found.text.strip()
                assert found.text or not context

    def test_padding_and_batches_change_no_score(
        self, encoder_reader: Trained, examples: list[Example], kind: str, changes: tuple[str, ...]
    ) -> None:
        _, reader = encoder_reader(kind, *changes)
        rows = reader.scorer.encoder.encode(examples)
        alone = scores_of(reader, rows, 1)
        longer = reader.scorer.batches(rows, len(rows) + 3)  # with three fillers
        batch = longer.make((POSITIONS,), np.arange(len(rows), dtype=np.int32))
        with torch.inference_mode():
            found = reader.scorer.module(batch)
        assert found.start.shape == (len(rows) + 3, POSITIONS)
        assert not found.allowed[len(rows) :].any()
        for side in (found.start, found.end, found.null):
            assert torch.isfinite(side).all()
        for row, (start, end, null) in alone.items():
            for one, other in ((start, found.start), (end, found.end), (null, found.null)):
                padded = other[row, : len(one)].numpy()
                np.testing.assert_allclose(one, padded, atol=2e-4, rtol=1e-4)

    def test_every_parameter_learns(
        self, encoder_recipe: Callable[..., Any], kind: str, changes: tuple[str, ...]
    ) -> None:
        recipe = encoder_recipe(kind, *changes)
        data = prepare(recipe)
        scorer = objective_of(recipe, None).build(data)
        scorer.module.train()
        batches = scorer.batches(data.train.rows, 64, seed=0)
        learner = scorer.learner(data.train.rows, 0.0, None)
        sum(learner(batch) for batch in batches).backward()
        for name, parameter in scorer.module.named_parameters():
            assert parameter.grad is not None, name
            assert torch.isfinite(parameter.grad).all(), name
            assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("kind", KINDS)
def test_states_are_those_that_transformers_returns(
    tiny_encoder: Callable[..., Path], kind: str
) -> None:
    from transformers import AutoModel

    name = str(tiny_encoder(kind))
    encoder = load_pretrained(name, load_config(name), None).eval()
    tokens = torch.randint(5, 300, (3, 20))  # (B, T)
    keep = torch.arange(20) < torch.tensor([[20], [9], [14]])  # (B, T)
    with torch.no_grad():
        states = encoder(tokens, torch.zeros_like(tokens), keep, all_layers=True)
        (last,) = encoder(tokens, torch.zeros_like(tokens), keep, all_layers=False)
        expected = AutoModel.from_pretrained(name).eval()(
            input_ids=tokens, attention_mask=keep.long(), output_hidden_states=True
        )
    assert len(states) == encoder.layers == (3 if kind == "minilm-like" else 2)
    assert encoder.width == 16
    for found, wanted in zip(states, expected.hidden_states[1:], strict=True):
        assert torch.equal(found, wanted)
    assert torch.equal(last, expected.last_hidden_state)


@pytest.mark.parametrize("kind", ["bert", "albert", "deberta-v2", "roberta"])
def test_stopped_and_resumed_it_has_the_same_weights(
    encoder_reader: Trained,
    encoder_recipe: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
) -> None:
    """To the bit, with dropout."""
    _, reader = encoder_reader(kind)
    advance, steps = TrainingLoop.advance, []

    def stopping(loop: TrainingLoop) -> Any:
        if len(steps) == 5:
            raise KeyboardInterrupt
        steps.append(1)
        return advance(loop)

    monkeypatch.setattr(TrainingLoop, "advance", stopping)
    recipe = encoder_recipe(kind)
    with pytest.raises(KeyboardInterrupt):
        train_reader(recipe, tmp_path / "run", resume=False)
    monkeypatch.undo()
    resumed = train_reader(recipe, tmp_path / "run", resume=True)
    assert resumed.metrics["steps"] == reader.metrics["steps"] > 7
    for name, weight in reader.scorer.module.state_dict().items():
        assert torch.equal(weight, resumed.scorer.module.state_dict()[name]), name


def test_weights_in_half_precision_survive_saving(
    encoder_reader: Trained, examples: list[Example], tmp_path: Path
) -> None:
    folder, reader = encoder_reader("albert")
    reader = Reader.load(folder)
    with torch.no_grad():
        for weight in reader.scorer.module.parameters():
            weight.copy_(weight.half().float())
    settings = reader.scorer.settings.model_copy(update={"stored": "float16"})
    slim = replace(reader, scorer=replace(reader.scorer, settings=settings))
    slim.save(tmp_path / "slim")
    whole, half = (path / "model.safetensors" for path in (folder, tmp_path / "slim"))
    assert half.stat().st_size < 0.7 * whole.stat().st_size
    loaded = Reader.load(tmp_path / "slim")
    assert loaded.scorer.stored == "float16"
    assert {w.dtype for w in loaded.scorer.module.parameters()} == {torch.float32}
    rows = loaded.scorer.encoder.encode(examples)
    before, after = (scores_of(r, rows, 4) for r in (slim, loaded))
    for row, parts in before.items():
        for part, other in zip(parts, after[row], strict=True):
            np.testing.assert_array_equal(part, other)
    assert "half precision" in (tmp_path / "slim" / "README.md").read_text("utf-8")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_an_encoder_stored_in_half_precision_is_trained_in_float32(
    tiny_encoder: Callable[..., Path],
    encoder_recipe: Callable[..., Any],
    examples: list[Example],
    tmp_path: Path,
    dtype: torch.dtype,
) -> None:
    from transformers import AutoModel

    folder = shutil.copytree(tiny_encoder("bert"), tmp_path / "half")
    AutoModel.from_pretrained(folder).to(dtype).save_pretrained(folder)
    assert str(dtype).removeprefix("torch.") in (folder / "config.json").read_text()
    recipe = encoder_recipe("bert", f"model.encoder={folder}", "training.epochs=1")
    reader = train_reader(recipe, tmp_path / "run", resume=False)
    loaded = Reader.load(tmp_path / "run")
    for made in (reader, loaded):
        assert {w.dtype for w in made.scorer.module.parameters()} == {torch.float32}
    pairs = [(example.question, example.context) for example in examples]
    assert list(loaded.answer_batch(pairs)) == list(reader.answer_batch(pairs))


def test_a_reader_is_a_start_without_the_encoder_it_was_made_from(
    encoder_recipe: Callable[..., Any],
    tiny_encoder: Callable[..., Path],
    few_questions: Path,
    tmp_path: Path,
) -> None:
    """With other questions and another dropout; the network is that of the start."""
    copy = shutil.copytree(tiny_encoder("roberta"), tmp_path / "encoder")
    recipe = encoder_recipe("roberta", f"model.encoder={copy}", "model.mix=dot")
    start = train_reader(recipe, tmp_path / "start", resume=False)
    shutil.rmtree(copy)
    write_examples(tmp_path / "more.json", list(read_examples(few_questions))[3:])
    changes = [f"training.start={tmp_path / 'start'}", f"data.train={tmp_path / 'more.json'}"]
    changes += ["model.encoder=./not-there", "model.mix=dot", "model.dropout=0"]
    changes += ["training.start_share=0.5", "training.learning_rate=1e-9", "training.epochs=1"]
    made = train_reader(encoder_recipe("bert", *changes), tmp_path / "run", resume=False)
    known = start.scorer.module.state_dict()
    for name, weight in made.scorer.module.state_dict().items():
        torch.testing.assert_close(weight, known[name], atol=1e-6, rtol=0)
    assert recipe_of(made.recipe).model.encoder == str(copy)
    loaded = Reader.load(tmp_path / "run")
    assert loaded.answer("Who?", "Ada lit it.") == made.answer("Who?", "Ada lit it.")


def test_one_mix_is_no_start_of_another(
    encoder_reader: Trained, encoder_recipe: Callable[..., Any], tmp_path: Path
) -> None:
    folder, _ = encoder_reader("bert")
    recipe = encoder_recipe("bert", f"training.start={folder}", "model.mix=dot")
    with pytest.raises(ReadletError, match=r"that reader has another model\.mix"):
        train_reader(recipe, tmp_path / "run", resume=False)


def test_norm_softmax_in_attention_and_loss(
    encoder_reader: Trained, examples: list[Example]
) -> None:
    folder, reader = encoder_reader("bert", "attention.softmax=norm", "loss.softmax=norm")
    _, standard = encoder_reader("bert")
    loaded = Reader.load(folder)
    pairs = [(example.question, example.context) for example in examples]
    assert list(loaded.answer_batch(pairs)) == list(reader.answer_batch(pairs))
    query = "encoder.network.encoder.layer.0.attention.self.query.weight"
    one, other = (r.scorer.module.state_dict()[query] for r in (reader, standard))
    assert not torch.equal(one, other)
    rows = reader.scorer.encoder.encode(examples)
    for start, end, null in scores_of(reader, rows, 8).values():
        for side, of_null in ((start, null[0]), (end, null[1])):
            # Without a cap the deviation is 1; a lone null has none.
            assert np.append(side, of_null).std() == pytest.approx(float(len(side) > 0), abs=1e-3)


def test_the_encoder_decides_the_run(
    encoder_recipe: Callable[..., Any], tiny_encoder: Callable[..., Path], tmp_path: Path
) -> None:
    """Its content, not its path: after a change the cached data and the run are others."""
    copy = shutil.copytree(tiny_encoder("bert"), tmp_path / "copy")
    given, same = (encoder_recipe("bert", *c) for c in ((), (f"model.encoder={copy}",)))
    assert prepare(given).key == prepare(same).key
    path = copy / "tokenizer.json"
    path.write_text(path.read_text("utf-8") + "\n", "utf-8")
    assert prepare(given).key != prepare(same).key
