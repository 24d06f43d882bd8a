"""SQuAD scores of single cases, with expected values computed by hand."""

from collections.abc import Sequence

import pytest

from readlet.evaluation.no_answer import abstain_above, best_thresholds, precision_recall
from readlet.evaluation.squad import Rules, exact_match, f1, score_questions, summary
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


def test_each_score_takes_its_own_best_gold() -> None:
    exact, f1_score, _ = score_one("river Nile", ["Nile", "the river Nile"], "1.1")
    assert (exact, f1_score) == (1.0, 1.0)
    assert score_one("blue Nile water", ["Nile", "blue Nile"], "2.0")[:2] == (0.0, 0.8)


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


def test_no_questions() -> None:
    scores = score_questions([], {}, "2.0")
    assert summary(scores) == {"exact": 0.0, "f1": 0.0, "total": 0}
    assert best_thresholds(scores, {})["best_f1"] == 0.0
    assert precision_recall(scores, {}) == {}
