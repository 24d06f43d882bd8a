"""What an inspection shows: the numbers of the scorer itself, and sums that hold."""

import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from readlet.inference.decoding import best_spans
from readlet.inference.inspection import inspect_answer, save_picture
from readlet.inference.reader import Reader
from readlet.models.encoder.scorer import EncoderScorer
from readlet.types import Example

Build = Callable[..., Reader]

QUESTION = "Who lit the lamp?"
LAMP = "The lamp at Cape Wick was lit by Ada Brook in 1881."
LONG = " ".join(f"Keeper {n} paid for the oil of the lamp at Cape Wick." for n in range(20))
MIXES = ("last", "scalar", "scalar-softmax", "dot", "weighted", "encoder")
SUMS = tuple(mix for mix in MIXES if mix != "encoder")


def sharpened(reader: Reader) -> Reader:
    """Larger queries: otherwise the scores of an untrained model are nearly equal."""
    with torch.no_grad():
        reader.scorer.module.mix.query *= 40  # type: ignore[attr-defined]
    return reader


@pytest.fixture
def encoder_reader(random_encoder_reader: Build) -> Build:
    def build(*words: Any, **options: Any) -> Reader:
        return sharpened(random_encoder_reader(*words, **options))

    return build


def scores_of(reader: Reader, text: str) -> tuple[Any, Any]:
    """Rows, and the scores of all of them as the reader computes them: start, end, null."""
    rows = reader.scorer.encoder.encode([Example("", QUESTION, text)])
    ((numbers, scores),) = reader.scorer.scores(rows, 64)
    return rows, {int(row): (scores.start[i], scores.end[i], scores.null[i])
                  for i, row in enumerate(numbers)}  # fmt: skip


@pytest.mark.parametrize("mix", MIXES)
def test_the_scores_are_those_of_the_scorer(encoder_reader: Build, mix: str) -> None:
    reader = encoder_reader(mix)
    found = inspect_answer(reader, QUESTION, LAMP)
    _, scores = scores_of(reader, LAMP)
    start, end, null = scores[0]
    places = len(found.offsets)
    view = found.layers
    assert view is not None
    inside = view.scores[view.first : view.first + places]  # (P, 2)
    for expected, shown, of_head in zip((start, end), found.scores.T, inside.T, strict=True):
        np.testing.assert_array_equal(shown, expected[:places])
        np.testing.assert_allclose(of_head, expected[:places], atol=1e-5)
    np.testing.assert_allclose(view.scores[view.null], null, atol=1e-5)
    assert found.null == tuple(null.tolist())


@pytest.mark.parametrize("mix", SUMS)
def test_contributions_sum_to_the_scores(encoder_reader: Build, mix: str) -> None:
    view = inspect_answer(encoder_reader(mix), QUESTION, LAMP).layers
    assert view is not None
    assert view.contributions is not None
    assert view.contributions.shape == (2, len(view.tokens), 2)
    np.testing.assert_allclose(view.contributions.sum(axis=0), view.scores, atol=1e-4)
    assert np.ptp(view.scores) > 0.5


@pytest.mark.parametrize("mix", ["dot", "weighted", "scalar-softmax", "last", "encoder"])
def test_normalised_weights_sum_to_one(encoder_reader: Build, mix: str) -> None:
    view = inspect_answer(encoder_reader(mix), QUESTION, LAMP).layers
    assert view is not None
    assert view.weights.shape == (2, len(view.tokens), 2)
    np.testing.assert_allclose(view.weights.sum(axis=0), 1.0, atol=1e-5)
    assert (view.contributions is None) == (mix == "encoder")  # a block over the layers


def test_weights_of_dot_are_softmax_of_the_scores_of_each_layer(encoder_reader: Build) -> None:
    """By hand from the hidden states of the encoder itself."""
    reader = encoder_reader("dot")
    view = inspect_answer(reader, QUESTION, LAMP).layers
    assert view is not None
    scorer: Any = reader.scorer
    tokens = [scorer.encoder.tokenizer.token_to_id(token) for token in view.tokens]
    separator = view.tokens.index("[SEP]") + 1
    types = [0] * separator + [1] * (len(tokens) - separator)
    with torch.no_grad():
        states = scorer.module.encoder.network(
            input_ids=torch.tensor([tokens]),
            token_type_ids=torch.tensor([types]),
            output_hidden_states=True,
        ).hidden_states[1:]
    query = scorer.module.mix.query.detach().numpy()  # (2, H)
    each = np.stack([state[0].numpy() @ query.T for state in states])  # (N, T, 2)
    odds = np.exp(each - each.max(axis=0))
    weights = odds / odds.sum(axis=0)
    np.testing.assert_allclose(view.weights, weights, atol=1e-4)
    np.testing.assert_allclose(view.contributions, weights * each, atol=1e-3)


def test_the_best_answer_is_that_of_the_reader(encoder_reader: Build) -> None:
    for seed in range(5):
        reader = encoder_reader("dot", seed=seed)
        for text in (LAMP, LONG):
            found = inspect_answer(reader, QUESTION, text)
            prediction = reader.answer(QUESTION, text)
            assert found.prediction == prediction
            best = prediction.n_best[0]
            span = int(found.offsets[found.first, 0]), int(found.offsets[found.last, 1])
            assert span == (best.start, best.end)


def test_the_window_of_the_best_answer_is_shown(encoder_reader: Build) -> None:
    reader = encoder_reader("dot", seed=3)
    found = inspect_answer(reader, QUESTION, LONG)
    rows, scores = scores_of(reader, LONG)
    assert found.windows == len(rows) > 3
    row = found.window - 1
    np.testing.assert_array_equal(found.offsets, rows.places(row))
    np.testing.assert_allclose(found.scores[:, 0], scores[row][0][: len(found.offsets)], atol=1e-5)
    longest = reader.scorer.max_answer
    best = {}
    for number, (start, end, _) in scores.items():
        places = rows.places(number)
        allowed = np.arange(len(start)) < len(places)
        (span,) = best_spans(start, end, allowed, places, LONG, max_places=longest, n=1)
        best[number] = span.score
    assert best[row] == max(best.values())
    assert sum(found.answer_scores) == pytest.approx(best[row], abs=1e-4)


def test_probabilities_and_no_answer_sum_to_one(random_reader: Build) -> None:
    reader = random_reader(LAMP, null=True)
    found = inspect_answer(reader, QUESTION, LAMP)
    assert found.layers is None
    total = found.probabilities.sum(axis=0) + found.prediction.no_answer  # (2,)
    np.testing.assert_allclose(total, 1.0)
    assert found.labels[:3] == ("The", "lamp", "at")


def test_scores_that_are_normalised_afterwards(encoder_reader: Build) -> None:
    reader = encoder_reader("dot")
    scorer = reader.scorer
    assert isinstance(scorer, EncoderScorer)
    scorer.module.loss_gamma = 2.0
    found = inspect_answer(reader, QUESTION, LAMP)
    view = found.layers
    assert view is not None
    assert view.normalised
    assert view.contributions is not None
    np.testing.assert_allclose(view.contributions.sum(axis=0), view.scores, atol=1e-4)
    assert not np.allclose(found.scores[0], view.scores[view.first], atol=1e-2)


@pytest.mark.parametrize(
    ("mix", "suffix"),
    [("encoder", ".svg"), ("scalar", ".svg"), ("scalar", ".png"), ("last", ".svg")],
)
def test_pictures(encoder_reader: Build, tmp_path: Path, mix: str, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / f"picture{suffix}"
    text = "It cost $5 & $6 <then>, \x07 said Ada. " * 4  # the bell is no character of XML
    found = inspect_answer(encoder_reader(mix), "Why $5 or $6?", text)
    save_picture(found, out)
    written = out.read_bytes()
    assert written.startswith(b"\x89PNG" if suffix == ".png" else b"<?xml")
    if suffix == ".svg":
        texts = "".join(ET.fromstring(written.decode()).itertext())
        assert "Why $5 or $6?" in texts
        assert "[CLS]" in texts
        assert ("weight of each layer" in texts) == (mix != "last")
    if mix == "scalar":  # once for each kind of file
        save_picture(found, out)
        assert out.read_bytes() == written
