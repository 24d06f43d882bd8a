"""The area under the ROC curve of refusals, against a count of all pairs."""

import numpy as np
import pytest

from readlet.metrics.refusals import refusal_area


def test_against_all_pairs() -> None:
    generator = np.random.default_rng(0)
    no_answer = generator.integers(0, 9, 60) / 8  # with ties
    has_answer = generator.random(60) < 0.6
    pairs = [
        (a > b) + 0.5 * (a == b) for a in no_answer[~has_answer] for b in no_answer[has_answer]
    ]
    assert refusal_area(no_answer, has_answer.tolist()) == pytest.approx(np.mean(pairs))


def test_perfect_inverted_and_constant() -> None:
    assert refusal_area([0.9, 0.1], [False, True]) == 1.0
    assert refusal_area([0.1, 0.9], [False, True]) == 0.0
    assert refusal_area([0.5, 0.5, 0.5], [False, True, True]) == 0.5


def test_one_kind_of_questions_has_none() -> None:
    assert refusal_area([0.1, 0.2], [True, True]) is None
    assert refusal_area([], []) is None
