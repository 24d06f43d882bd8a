"""Calibration error against a plain loop, and temperatures that are found again."""

import json
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from readlet.calibration import Calibration, fit_temperature
from readlet.metrics.calibration_error import expected_calibration_error


def plain_error(confidences: Sequence[float], correct: Sequence[float]) -> float:
    pairs = list(zip(confidences, correct, strict=True))
    total = 0.0
    for number in range(10):
        members = [(said, true) for said, true in pairs if number == min(int(said * 10), 9)]
        if members:
            gap = sum(said for said, _ in members) - sum(true for _, true in members)
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


def test_error_of_known_cases() -> None:
    assert expected_calibration_error([1.0] * 4, [1, 1, 0, 0]) == pytest.approx(0.5)
    assert expected_calibration_error([0.75] * 4, [1, 1, 1, 0]) == pytest.approx(0)
    assert expected_calibration_error([0.95, 0.05], [0, 1]) == pytest.approx(0.95)
    assert expected_calibration_error([], []) == 0


@pytest.mark.parametrize("true_temperature", [0.5, 1.0, 1.7, 4.0])
def test_a_known_temperature_is_found_again(true_temperature: float) -> None:
    generator = np.random.default_rng(2)
    logits = 3 * generator.normal(size=(20_000, 6)) * true_temperature

    def probabilities(temperature: float) -> np.ndarray:
        scaled = np.exp(logits / temperature - (logits / temperature).max(1, keepdims=True))
        return scaled / scaled.sum(1, keepdims=True)

    # The truth is drawn with the true temperature; the answer given is always the likeliest one.
    cumulative = probabilities(true_temperature).cumsum(1)
    truth = (generator.random((len(logits), 1)) > cumulative).sum(1)
    correct = (truth == logits.argmax(1)).astype(float)

    def confidences(temperature: float) -> list[float]:
        return probabilities(temperature).max(1).tolist()

    found = fit_temperature(confidences, correct.tolist())
    assert found == pytest.approx(true_temperature, rel=0.08)
    assert expected_calibration_error(confidences(found), correct) < 0.015


@pytest.mark.parametrize("correct", [[1.0, 1.0], [0.0, 0.0]])
def test_no_temperature_runs_away(correct: list[float]) -> None:
    def confidences(temperature: float) -> list[float]:
        return [1 / (1 + np.exp(-3 / temperature)), 1.0]  # certainty is clipped, never log(0)

    assert 0.25 <= fit_temperature(confidences, correct) <= 8


def test_stored_and_read_again() -> None:
    made = Calibration(temperature=1.25, no_answer_threshold=0.4, questions=9, error_before=0.1)
    assert Calibration(**json.loads(json.dumps(made.model_dump()))) == made


@pytest.mark.parametrize(
    "values",
    [
        {"temperature": 0.0},
        {"temperature": -1.0},
        {"temperature": float("nan")},
        {"no_answer_threshold": 1.5},
        {"no_answer_threshold": float("nan")},
        {"temprature": 1.0},
        {"temperature": "hot"},
    ],
)
def test_nonsense_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Calibration.model_validate(values)
