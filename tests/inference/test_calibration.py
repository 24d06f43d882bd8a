"""Calibration error against a plain loop, and known temperatures that are recovered."""

import json
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from readlet.evaluation.statistics import expected_calibration_error
from readlet.inference.calibration import (
    Calibration,
    fit_answers,
    fit_no_answer,
    fit_temperature,
    logit,
)


def plain_error(confidences: Sequence[float], correct: Sequence[float]) -> float:
    pairs = list(zip(confidences, correct, strict=True))
    total = 0.0
    for number in range(10):
        members = [
            (confidence, true)
            for confidence, true in pairs
            if number == min(int(confidence * 10), 9)
        ]
        if members:
            gap = sum(confidence for confidence, _ in members) - sum(true for _, true in members)
            total += abs(gap)
    return total / len(pairs)


@given(
    st.lists(
        st.tuples(st.floats(0, 1) | st.sampled_from([0.1, 0.3, 1.0]), st.sampled_from([0.0, 1.0])),
        min_size=1,
        max_size=40,
    )
)
def test_error_equals_a_plain_loop(pairs: list[tuple[float, float]]) -> None:
    confidences, correct = zip(*pairs, strict=True)
    got = expected_calibration_error(confidences, correct)
    assert got == pytest.approx(plain_error(confidences, correct), abs=1e-9)
    assert 0 <= got <= 1


@pytest.mark.parametrize("true_temperature", [0.5, 1.0, 1.7, 4.0])
def test_a_known_temperature_is_recovered(true_temperature: float) -> None:
    generator = np.random.default_rng(2)
    logits = 3 * generator.normal(size=(20_000, 6)) * true_temperature

    def probabilities(temperature: float) -> np.ndarray:
        scaled = np.exp(logits / temperature - (logits / temperature).max(1, keepdims=True))
        return scaled / scaled.sum(1, keepdims=True)

    # The truth is drawn with the true temperature; the answer is always the most probable one.
    cumulative = probabilities(true_temperature).cumsum(1)
    truth = (generator.random((len(logits), 1)) > cumulative).sum(1)
    correct = (truth == logits.argmax(1)).astype(float)

    def confidences(temperature: float) -> list[float]:
        return probabilities(temperature).max(1).tolist()

    found = fit_temperature(confidences, correct.tolist())
    assert found == pytest.approx(true_temperature, rel=0.08)
    assert expected_calibration_error(confidences(found), correct) < 0.015


@pytest.mark.parametrize(("right", "found"), [(74, 1.0), (72, 1.0), (80, 1 / math.log(4))])
def test_an_insignificant_gain_changes_nothing(right: int, found: float) -> None:
    """Confidence is 0.731: 74 or 72 correct of a hundred gain less than 0.001 nats, 80 more."""
    correct = [1.0] * right + [0.0] * (100 - right)

    def confidences(temperature: float) -> list[float]:
        return [1 / (1 + math.exp(-1 / temperature))] * 100

    exactly = 0.0 if found == 1.0 else 1e-3
    assert fit_temperature(confidences, correct) == pytest.approx(found, abs=exactly)


@pytest.mark.parametrize(("temperature", "bias"), [(1.0, 0.0), (0.6, 0.8), (2.0, 1.5)])
def test_temperature_and_bias_of_answers_are_recovered(temperature: float, bias: float) -> None:
    """The log-odds of shares fall with the temperature, as they do with two spans."""
    generator = np.random.default_rng(3)
    odds = generator.normal(0.5, 2.0, size=40_000) * temperature  # at temperature 1
    truth = 1 / (1 + np.exp(-(odds / temperature + bias)))
    correct = (generator.random(len(odds)) < truth).astype(float).tolist()

    def shares(tried: float) -> list[float]:
        found: list[float] = (1 / (1 + np.exp(-odds / tried))).tolist()
        return found

    assert fit_answers(shares, correct) == pytest.approx((temperature, bias), rel=0.05, abs=0.03)


@given(
    st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=8),
    st.floats(0.0, 20.0),
    st.floats(0.01, 1.0),
)
def test_probabilities_of_answers(drawn: list[float], bias: float, mass: float) -> None:
    """In the same order, at most 1 together, the best one with the bias on its log-odds."""
    shares = sorted((mass * share / sum(drawn) for share in drawn), reverse=True)
    found = Calibration(answer_bias=bias).of_answers(shares)
    assert found[0] == pytest.approx(1 / (1 + math.exp(-logit(shares[0]) - bias)), rel=1e-6)
    assert sorted(found, reverse=True) == pytest.approx(found, abs=1e-12)
    assert sum(found) <= 1 + 1e-9
    left = sum(found[1:]) * (1 - shares[0])
    assert left == pytest.approx(sum(shares[1:]) * (1 - found[0]), abs=1e-9)
    if bias == 0:
        assert found == shares


def test_stored_and_read_again() -> None:
    made = Calibration(temperature=1.25, questions=9, error_before=0.1)
    assert Calibration(**json.loads(json.dumps(made.model_dump()))) == made


@pytest.mark.parametrize(
    "values",
    [
        {"temperature": 0.0},
        {"temperature": -1.0},
        {"temperature": float("nan")},
        {"temprature": 1.0},
        {"temperature": "hot"},
    ],
)
def test_invalid_values_are_rejected(values: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Calibration.model_validate(values)


@pytest.mark.parametrize(("slope", "bias"), [(1.0, 0.0), (0.3, 2.5), (2.0, -4.0)])
def test_slope_and_bias_are_recovered(slope: float, bias: float) -> None:
    generator = np.random.default_rng(0)
    leads = generator.normal(-bias / slope, 3 / slope, 20_000)
    impossible = generator.random(20_000) < 1 / (1 + np.exp(-(slope * leads + bias)))
    found = fit_no_answer(leads.tolist(), impossible.tolist())
    assert found == pytest.approx((slope, bias), rel=0.1, abs=0.1)


def test_uninformative_leads_give_the_share_of_impossible_questions() -> None:
    generator = np.random.default_rng(1)
    leads = generator.normal(size=4000)
    impossible = generator.random(4000) < 0.2
    slope, bias = fit_no_answer(leads.tolist(), impossible.tolist())
    fitted = Calibration(no_answer_slope=slope, no_answer_bias=bias)
    assert all(fitted.no_answer(lead) == pytest.approx(0.2, abs=0.05) for lead in (-3, 0, 3))


def test_separable_and_misleading_leads_stay_finite() -> None:
    clean = fit_no_answer([-2.0, -1.0, 1.0, 2.0] * 10, [False, False, True, True] * 10)
    wrong = fit_no_answer([-2.0, -1.0, 1.0, 2.0] * 10, [True, True, False, False] * 10)
    assert all(math.isfinite(number) for number in (*clean, *wrong))
    assert clean[0] > 0.5
    assert 0 < wrong[0] < 0.01  # a larger lead never makes it less likely


@given(st.floats(-8, 8), st.floats(0.05, 0.95), st.floats(0.05, 0.95))
def test_another_share_is_bayes_rule(lead: float, fitted_on: float, share: float) -> None:
    fitted = Calibration(no_answer_slope=0.7, no_answer_bias=0.2, unanswerable_share=fitted_on)
    before = fitted.no_answer(lead)
    # How likely this lead is of each kind of question, up to a common factor.
    of_impossible, of_answerable = before / fitted_on, (1 - before) / (1 - fitted_on)
    joint = share * of_impossible
    expected = joint / (joint + (1 - share) * of_answerable)
    moved = fitted.assuming(share)
    assert moved.no_answer(lead) == pytest.approx(expected)
    assert moved.unanswerable_share == share
    assert moved.assuming(fitted_on).no_answer(lead) == pytest.approx(before)


@given(st.floats(-8, 8), st.integers(1, 1000))
def test_further_windows_add_doubt(lead: float, windows: int) -> None:
    fitted = Calibration(no_answer_slope=0.3, no_answer_windows=0.5)
    odds = fitted.no_answer(lead, windows) / (1 - fitted.no_answer(lead, windows))
    alone = fitted.no_answer(lead) / (1 - fitted.no_answer(lead))
    assert odds == pytest.approx(alone * math.sqrt(windows))
    assert Calibration().no_answer(lead, windows) == Calibration().no_answer(lead)


@given(st.floats(-30, 30), st.floats(0.01, 5), st.floats(-20, 20))
def test_no_answer_is_the_logistic_of_the_lead(lead: float, slope: float, bias: float) -> None:
    fitted = Calibration(no_answer_slope=slope, no_answer_bias=bias)
    assert 0.0 <= fitted.no_answer(lead) <= 1.0
    assert Calibration().no_answer(logit(Calibration().no_answer(lead))) == pytest.approx(
        Calibration().no_answer(lead)
    )
    assert fitted.no_answer(lead + 1) >= fitted.no_answer(lead)
    assert logit(0.0) < -600
    assert logit(1.0) > 30
