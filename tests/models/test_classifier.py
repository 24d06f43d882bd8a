"""Classifiers with every pooler and mix: trained, resumed, saved and loaded."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from readlet.engine.loop import TrainingLoop
from readlet.errors import ReadletError
from readlet.inference.classifier import Classifier, scores_in_order
from readlet.nn.pooling import POOLERS
from readlet.training.train import objective_of, train_reader
from readlet.training.training_data import prepare
from readlet.types import Sentence

Make = Callable[..., Any]
MIXES = ("scalar", "scalar-softmax", "dot", "weighted", "encoder")
SENTENCES = [
    Sentence("1", "The lamp was lit.", None),
    Sentence("2", "x", None),
    Sentence("3", "The old bridge at the harbour was built in 1804, they say, by hand.", None),
]


@pytest.mark.parametrize(
    "changes",
    [
        *((f"model.pooler={name}",) for name in POOLERS),
        ('model.pooler=["cls", "mean", "max"]',),
        *((f"model.mix={mix}", "model.pooler=attention") for mix in MIXES),
        ("loss.softmax=norm", "loss.gamma=0.001"),
        ("attention.softmax=norm",),
    ],
    ids=" ".join,
)
class TestEveryClassifier:
    def test_every_parameter_learns_and_padding_changes_nothing(
        self, classifier_recipe: Make, changes: tuple[str, ...]
    ) -> None:
        recipe = classifier_recipe("single", *changes)
        data = prepare(recipe)
        scorer = objective_of(recipe, None).build(data)
        scorer.module.train()
        if "attention" in str(changes):  # at zero, its query learns but teaches nothing below
            torch.nn.init.normal_(getattr(scorer.module.pooler, "query", torch.zeros(1)))
        learner = scorer.learner(0.0)
        sum(learner(batch) for batch in scorer.batches(data.train.rows, 16, seed=0)).backward()
        for name, parameter in scorer.module.named_parameters():
            assert parameter.grad is not None, name
            assert torch.isfinite(parameter.grad).all(), name
            assert parameter.grad.abs().sum() > 0, name
        rows = scorer.encoder.encode(SENTENCES)
        alone = scores_in_order(scorer, rows, 1)  # (3, 2)
        longer = scorer.batches(rows, 5).make((48,), np.arange(3, dtype=np.int32))  # two fillers
        with torch.inference_mode():
            padded = scorer.module(longer)  # (5, 2)
        assert torch.isfinite(padded).all()
        np.testing.assert_allclose(alone, padded[:3].numpy(), atol=1e-4)
        assert np.abs(alone[0] - alone[2]).max() > 1e-4


@pytest.mark.parametrize("what", ["single", "pairs", "numbers"])
def test_saved_and_loaded_it_predicts_the_same_to_the_bit(
    trained_classifier: Make, what: str
) -> None:
    folder, made = trained_classifier(what)
    loaded = Classifier.load(folder)
    texts: list[Any] = [s.text for s in SENTENCES]
    if what == "pairs":
        texts = [(text, "It is about the lamp.") for text in texts]
    assert list(loaded.predict_batch(texts)) == list(made.predict_batch(texts))
    assert loaded.labels == made.labels
    assert loaded.metrics == made.metrics
    assert loaded.calibration == made.calibration
    assert loaded.task.name == made.task.name


def test_stopped_and_resumed_it_has_the_same_weights(
    trained_classifier: Make,
    classifier_recipe: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To the bit, with a pooler that draws tokens."""
    change = "model.pooler=stochastic"
    _, whole = trained_classifier("single", change)
    advance, steps = TrainingLoop.advance, []

    def stopping(loop: TrainingLoop) -> Any:
        if len(steps) == 4:
            raise KeyboardInterrupt
        steps.append(1)
        return advance(loop)

    recipe = classifier_recipe("single", change)
    monkeypatch.setattr(TrainingLoop, "advance", stopping)
    with pytest.raises(KeyboardInterrupt):
        train_reader(recipe, tmp_path / "run", resume=False)
    monkeypatch.undo()
    resumed = train_reader(recipe, tmp_path / "run", resume=True)
    after = dict(whole.scorer.module.state_dict())
    for name, weight in resumed.scorer.module.state_dict().items():
        assert torch.equal(weight, after[name]), name


@pytest.mark.parametrize("kind", ["bert", "albert", "roberta", "electra"])
def test_the_pretrained_pooler_is_taken_where_there_is_one(
    classifier_recipe: Make, tiny_encoder: Callable[..., Path], kind: str
) -> None:
    from transformers import AutoModel

    recipe = classifier_recipe("single", 'model.pooler=["mean", "cls"]', kind=kind)
    scorer = objective_of(recipe, None).build(prepare(recipe))
    dense = scorer.module.pooler.parts[1].dense
    pooler = getattr(AutoModel.from_pretrained(tiny_encoder(kind)), "pooler", None)
    if kind == "electra":
        assert pooler is None
        assert dense.bias.abs().sum() == 0  # as it was drawn
    else:
        assert torch.equal(dense.weight, getattr(pooler, "dense", pooler).weight)


def test_it_starts_from_another_classifier(
    trained_classifier: Make, classifier_recipe: Make, tmp_path: Path
) -> None:
    folder, before = trained_classifier()
    start = f"training.start={folder}"
    after = train_reader(classifier_recipe("single", start), tmp_path / "run", resume=False)
    assert after.classes == before.classes
    assert {"accuracy", "macro_f1", "accuracy_p"} == after.metrics["start"].keys()
    other = tmp_path / "other.tsv"
    other.write_text("text\tlabel\n" + "".join(f"Text {n}\t{'ab'[n % 2]}\n" for n in range(9)))
    recipe = classifier_recipe(
        "single", start, *(f"data.{part}={other}" for part in ("train", "dev", "calibration"))
    )
    with pytest.raises(ReadletError, match="label 'a' is not among the classes"):
        train_reader(recipe, tmp_path / "next", resume=False)
    with pytest.raises(ReadletError, match="has pairs of texts, where single texts are read"):
        train_reader(classifier_recipe("pairs", start), tmp_path / "pairs", resume=False)


@pytest.mark.parametrize("gamma", ["infinity", "sqrt(d)"])
def test_norm_softmax_over_two_classes_needs_a_small_cap(
    classifier_recipe: Make, tmp_path: Path, gamma: str
) -> None:
    """Two scores of deviation 1 are 1 and -1: the loss has no gradient."""
    recipe = classifier_recipe("single", "loss.softmax=norm", f"loss.gamma={gamma}")
    with pytest.raises(ReadletError, match=r"learns nothing at .*; give a small number, such as 0"):
        train_reader(recipe, tmp_path / "run", resume=False)


def test_dev_is_scored_once_when_training_ends(
    classifier_recipe: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = classifier_recipe("single")
    data = prepare(recipe)
    scored: list[Any] = []

    def counted(scorer: Any, rows: Any, batch_size: int) -> Any:
        scored.append(rows)
        return scores_in_order(scorer, rows, batch_size)

    monkeypatch.setattr("readlet.training.classification.scores_in_order", counted)
    objective = objective_of(recipe, None)
    evaluator = objective.evaluator(data, objective.build(data), 8)
    fitted = evaluator.fitted(data.held_out)
    assert [rows is data.dev.rows for rows in scored].count(True) == 1
    assert len(fitted.predictions) == 40


def test_a_collapse_and_a_dev_file_of_one_class_are_reported(
    classifier_recipe: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dev = tmp_path / "dev.tsv"
    for labels, reported in (
        ("new new", "all texts of dev are labelled 'new': its scores say little"),
        ("new old", "collapsed: it predicts '"),
    ):
        rows = "".join(f"A lamp.\t{label}\n" for label in labels.split())
        dev.write_text(f"text\tlabel\n{rows}")  # equal texts, so one class is predicted
        recipe = classifier_recipe("single", f"data.dev={dev}")
        data = prepare(recipe)
        objective = objective_of(recipe, None)
        evaluator = objective.evaluator(data, objective.build(data), 8)
        evaluator.fitted(data.held_out)
        assert capsys.readouterr().err.startswith(f"readlet: {reported}")
