"""Calibration fitted to a reader: it describes the reader's later predictions."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from torch import nn

from readlet.evaluation.squad import exact_match
from readlet.evaluation.statistics import expected_calibration_error
from readlet.inference.calibration import Calibration
from readlet.inference.decoding import Predictor
from readlet.inference.fit_calibration import (
    MIN_QUESTIONS,
    calibrate,
    fit_windows,
    in_documents,
)
from readlet.inference.inputs import AnswerOptions
from readlet.inference.reader import Reader
from readlet.models.torch_scorer import SpanLogits
from readlet.text.rows import Rows
from readlet.text.words import word_spans
from readlet.types import Example, Span

Build = Callable[..., Reader]
Setting = tuple[Predictor, list[Example], Rows]
WORDS = [f"w{number}" for number in range(50)]


def examples_of(reader: Reader, impossible: bool) -> list[Example]:
    """Passages of one to four windows; about every second answer is what the reader predicts."""
    generator = np.random.default_rng(4)
    examples = []
    for number in range(120):
        length = int(generator.integers(2, 70))
        context = " ".join(generator.choice(WORDS, length))
        question = " ".join(generator.choice(WORDS, 3))
        if impossible and number % 3 == 0:
            examples.append(Example(str(number), question, context))
            continue
        if number % 2:
            top = reader.answer(question, context).n_best[0]
            gold = Span(top.start, top.text)
        else:
            start, end = word_spans(context)[int(generator.integers(0, length))]
            gold = Span(start, context[start:end])
        examples.append(Example(str(number), question, context, (gold,)))
    # Neither has an answer that any temperature could change.
    examples.append(Example("empty passage", "w1", "", (Span(0, "w1"),)))
    examples.append(Example("empty question", " ", "w1 w2", (Span(0, "w1"),)))
    return examples


def louder(_: nn.Module, __: Any, scores: SpanLogits) -> SpanLogits:
    """ "No answer" often has the best score: it must never be taken for a word."""
    null = scores.null.clone()
    null[:, 0] = scores.start.amax(1) * 1.01
    null[:, 1] += null[:, 0] - scores.null[:, 0]
    return scores._replace(null=null)


@pytest.fixture(scope="module")
def setting(random_reader: Build) -> Callable[[bool], Setting]:
    """A reader that can abstain or not, and its questions; each is made once."""

    @cache
    def make(null: bool) -> Setting:
        reader = random_reader(" ".join(WORDS), null=null)
        if null:
            reader.scorer.module.register_forward_hook(louder)
        examples = examples_of(reader, impossible=null)
        rows = reader.scorer.encoder.encode(examples)
        assert len(rows) > len(examples) + 20  # many passages have several windows
        return Predictor(reader.scorer, Calibration()), examples, rows

    return make


@pytest.fixture(scope="module")
def fitted_to(setting: Callable[[bool], Setting]) -> Callable[[bool], Calibration]:
    """The calibration that is fitted to all questions of a setting."""
    return cache(lambda null: calibrate(*setting(null)))


@pytest.mark.parametrize("null", [False, True])
def test_errors_are_those_of_the_predictions(
    setting: Callable[[bool], Setting], fitted_to: Callable[[bool], Calibration], null: bool
) -> None:
    predictor, examples, rows = setting(null)
    fitted = fitted_to(null)
    assert fitted.questions == len(examples)
    assert math.isfinite(fitted.temperature)
    assert 0.25 <= fitted.temperature <= 8
    errors = []
    for calibration in (Calibration(), fitted):
        settings = replace(
            predictor, calibration=calibration, options=AnswerOptions(min_confidence="always")
        )
        predictions = settings.predict(examples, rows)
        chosen = [(p, e) for p, e in zip(predictions, examples, strict=True) if p.n_best]
        correct = [exact_match(p.text, e.answers[0].text) if e.answers else 0.0 for p, e in chosen]
        assert 0.1 < np.mean(correct) < 0.9
        assert any(p.no_answer > 0.2 for p, _ in chosen) == null
        errors.append(expected_calibration_error([p.score for p, _ in chosen], correct))
    assert [fitted.error_before, fitted.error_after] == pytest.approx(errors, abs=1e-4)


def test_it_notes_the_share_of_impossible_questions(
    setting: Callable[[bool], Setting], fitted_to: Callable[[bool], Calibration]
) -> None:
    _, examples, _ = setting(True)
    impossible = sum(not example.answers for example in examples)
    assert fitted_to(True).unanswerable_share == pytest.approx(impossible / len(examples))


def test_documents_are_refused_as_often_as_passages(
    setting: Callable[[bool], Setting], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("readlet.inference.fit_calibration._DOCUMENTS", 200)
    predictor, examples, rows = setting(True)
    counts = np.bincount(rows.row_example, minlength=len(examples)).tolist()
    short = [e for e, windows in zip(examples, counts, strict=True) if windows == 1]
    factor = fit_windows(predictor, short, Calibration())

    def doubt(asked: list[Example], of_windows: float) -> float:
        calibration = Calibration(no_answer_windows=of_windows)
        of = predictor.scorer.encoder.encode(asked)
        predictions = replace(predictor, calibration=calibration).predict(asked, of)
        return float(np.mean([p.no_answer for p in predictions]))

    documents = in_documents(short, short)
    # The best of many windows leads over "no answer" more easily, unless that is corrected.
    assert doubt(documents, 0.0) < doubt(short, 0.0) - 0.02
    assert doubt(documents, factor) == pytest.approx(doubt(short, factor), abs=1e-3)


def test_a_document_has_passages_of_other_articles() -> None:
    examples = [Example(str(n), "w1", f"passage {n}", title=f"t{n // 2}") for n in range(8)]
    for example, document in zip(examples, in_documents(examples, examples, [4]), strict=True):
        texts = document.context.split("\n\n")
        assert example.context in texts
        assert len(set(texts)) == 4
        neighbour = examples[int(example.id) ^ 1].context  # of the same article
        assert neighbour not in texts
    (short,) = in_documents(examples[:1], examples[:2], [4])
    assert short.context == "passage 0"  # there is no other article


def test_too_few_questions_fit_nothing(setting: Callable[[bool], Setting]) -> None:
    predictor, examples, _ = setting(True)
    answerable = [e for e in examples if e.answers][: MIN_QUESTIONS - 1]
    impossible = [e for e in examples if not e.answers]
    encode = predictor.scorer.encoder.encode
    few = [*answerable, *impossible]
    assert calibrate(predictor, few, encode(few)) == Calibration()
    few = [e for e in examples if e.answers] + impossible[: MIN_QUESTIONS - 1]
    fitted = calibrate(predictor, few, encode(few))
    assert (fitted.no_answer_slope, fitted.no_answer_bias) == (1.0, 0.0)
    assert fitted.temperature != 1.0
