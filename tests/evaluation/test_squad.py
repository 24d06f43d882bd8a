"""SQuAD scores of single cases, with expected values computed by hand."""

import numpy as np
import pytest

from readlet.evaluation.squad import (
    abstain_above,
    best_thresholds,
    no_answer_area,
    score_questions,
    summary,
)
from readlet.types import Example, Span


def test_missing_predictions_are_listed_and_score_zero() -> None:
    examples = [
        Example("a", "?", "", (Span(0, "x"),)),
        Example("b", "?", ""),
        Example("c", "?", ""),
    ]
    scores = score_questions(examples, {"c": "", "unknown": "x"}, "2.0")
    assert scores.missing == ["a", "b"]
    # "b" has no answer, but a missing prediction is not a refusal.
    assert summary(scores)["exact"] == 100 / 3
    assert summary(scores)["NoAns_exact"] == 50.0
    assert summary(scores)["HasAns_exact"] == 0.0
    assert scores.abstained == [False, False, True]


def test_a_repeated_id_counts_as_in_the_official_scripts() -> None:
    data = [Example("a", "?", "", (Span(0, gold),)) for gold in ("Ada", "Ada")]
    data.append(Example("b", "?", "", (Span(0, "Paris"),)))
    predicted = {"a": "Ada", "b": "London"}
    assert summary(score_questions(data, predicted, "1.1"))["exact"] == pytest.approx(200 / 3)
    assert summary(score_questions(data, predicted, "2.0"))["exact"] == 50.0
    assert score_questions(data, {}, "1.1").missing == ["a", "b"]


def test_a_missing_prediction_is_not_a_refusal() -> None:
    data = [Example("a", "?", "", (Span(0, "Ada"),)), Example("n", "?", "", is_impossible=True)]
    scores = score_questions(data, {"a": "Ada"}, "2.0")
    na_probs = {"a": 0.1, "n": 0.9}
    assert summary(abstain_above(scores, na_probs, 0.5))["exact"] == 50.0
    assert best_thresholds(scores, na_probs)["best_exact"] == 50.0


def test_against_all_pairs() -> None:
    generator = np.random.default_rng(0)
    no_answer = generator.integers(0, 9, 60) / 8  # with ties
    has_answer = generator.random(60) < 0.6
    pairs = [
        (a > b) + 0.5 * (a == b) for a in no_answer[~has_answer] for b in no_answer[has_answer]
    ]
    assert no_answer_area(no_answer, has_answer.tolist()) == pytest.approx(np.mean(pairs))


def test_one_kind_of_questions_has_none() -> None:
    assert no_answer_area([0.1, 0.2], [True, True]) is None
    assert no_answer_area([], []) is None
