"""SQuAD scores of single cases, with expected values computed by hand."""

from collections.abc import Sequence

import numpy as np
import pytest

from readlet.evaluation.squad import (
    Rules,
    abstain_above,
    best_thresholds,
    exact_match,
    f1,
    no_answer_area,
    score_questions,
    summary,
)
from readlet.types import Example, Span


@pytest.mark.parametrize("rules", ["1.1", "2.0"])
def test_f1_counts_repeated_words(rules: Rules) -> None:
    assert f1("x x y", "x z", rules) == 2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2)
    assert f1("x x", "x x", rules) == 1.0
    assert f1("x", "z", rules) == 0.0


@pytest.mark.parametrize("gold", ["the", "...", ""])
@pytest.mark.parametrize("prediction", ["", "The!"])
def test_empty_prediction_against_empty_gold(prediction: str, gold: str) -> None:
    assert exact_match(prediction, gold) == 1.0
    assert f1(prediction, gold, "2.0") == 1.0
    assert f1(prediction, gold, "1.1") == 0.0
    assert f1("x", gold, "2.0") == f1("x", gold, "1.1") == 0.0


def score_one(prediction: str, golds: Sequence[str], rules: Rules) -> tuple[float, float, bool]:
    example = Example("q", "?", "", tuple(Span(0, gold) for gold in golds))
    scores = score_questions([example], {"q": prediction}, rules)
    return scores.exact[0], scores.f1[0], scores.has_answer[0]


def test_golds_that_normalise_to_the_empty_string() -> None:
    # 2.0 drops such golds; a question without any other still counts as answerable.
    assert score_one("", ["the", "Nile"], "2.0") == (0.0, 0.0, True)
    assert score_one("", ["the", "Nile"], "1.1") == (1.0, 0.0, True)
    assert score_one("", ["the"], "2.0") == (1.0, 1.0, True)
    assert score_one("x", ["the"], "2.0") == (0.0, 0.0, True)


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


def test_perfect_inverted_and_constant() -> None:
    assert no_answer_area([0.9, 0.1], [False, True]) == 1.0
    assert no_answer_area([0.1, 0.9], [False, True]) == 0.0
    assert no_answer_area([0.5, 0.5, 0.5], [False, True, True]) == 0.5


def test_one_kind_of_questions_has_none() -> None:
    assert no_answer_area([0.1, 0.2], [True, True]) is None
    assert no_answer_area([], []) is None


def test_best_threshold_is_the_smallest_that_gives_the_best_score() -> None:
    examples = [Example(key, "?", "", (Span(0, "x"),) if key < "c" else ()) for key in "abcd"]
    scores = score_questions(examples, dict.fromkeys("abcd", "x"), "2.0")
    best = best_thresholds(scores, {"a": 0.1, "c": 0.2, "b": 0.3, "d": 0.9})
    # After "a": 3 of 4 correct; "c" loses one and "b" regains it: no better than before.
    assert (best["best_exact"], best["best_exact_thresh"]) == (75.0, 0.1)
