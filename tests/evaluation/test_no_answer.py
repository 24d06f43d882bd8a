"""Scores over no-answer thresholds, and the area, which is the share of pairs in order."""

import numpy as np
import pytest

from readlet.evaluation.no_answer import (
    abstain_above,
    best_thresholds,
    no_answer_area,
    precision_recall,
)
from readlet.evaluation.squad import score_questions
from readlet.types import Example, Span


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


def test_a_threshold_abstains_only_probabilities_above_it() -> None:
    examples = [Example("a", "?", "", (Span(0, "x"),)), Example("b", "?", "")]
    raw = score_questions(examples, {"a": "x", "b": "x"}, "2.0")
    na_probs = {"a": 0.5, "b": 0.5}
    assert abstain_above(raw, na_probs, 0.5).exact == [1.0, 0.0]
    refused = abstain_above(raw, na_probs, 0.49)
    assert refused.exact == refused.f1 == [0.0, 1.0]
    assert refused.abstained == [True, True]
    assert raw.exact == [1.0, 0.0]  # the raw scores are unchanged


def test_best_threshold_is_the_smallest_that_gives_the_best_score() -> None:
    examples = [Example(key, "?", "", (Span(0, "x"),) if key < "c" else ()) for key in "abcd"]
    scores = score_questions(examples, dict.fromkeys("abcd", "x"), "2.0")
    best = best_thresholds(scores, {"a": 0.1, "c": 0.2, "b": 0.3, "d": 0.9})
    # After "a": 3 of 4 correct; "c" loses one and "b" regains it: no better than before.
    assert (best["best_exact"], best["best_exact_thresh"]) == (75.0, 0.1)


def test_precision_recall_by_hand() -> None:
    examples = [
        Example("a", "?", "", (Span(0, "x"),)),
        Example("b", "?", ""),
        Example("c", "?", ""),
    ]
    scores = score_questions(examples, {"a": "x", "b": "y", "c": "y"}, "2.0")
    tied = precision_recall(scores, {"a": 0.5, "b": 0.5, "c": 0.9})
    assert tied == {"pr_exact_ap": 50.0, "pr_f1_ap": 50.0, "pr_oracle_ap": 50.0}
    assert precision_recall(scores, {"a": 0.1, "b": 0.5, "c": 0.9})["pr_exact_ap"] == 100.0
    # Probabilities of questions that are not in the data change nothing.
    assert precision_recall(scores, {"z": 0.0, "a": 0.5, "b": 0.5, "c": 0.9}) == tied
