"""The figures of the bundled reader's page, on made-up questions."""

from collections.abc import Callable
from typing import Any

import pytest

from readlet.types import Example, Span


@pytest.fixture
def report(load_script: Callable[[str], Any]) -> Any:
    return load_script("bundled_report")


def questions(report: Any) -> Any:
    answered = [Example(f"a{n}", "?", "ale or oil", (Span(0, "ale"),)) for n in range(4)]
    impossible = [Example(f"n{n}", "?", "ale or oil") for n in range(2)]
    no_answer = {"a0": 0.1, "a1": 0.2, "a2": 0.3, "a3": 0.6, "n0": 0.4, "n1": 0.6}
    return report.Answered([*answered, *impossible], dict.fromkeys(no_answer, "ale"), no_answer)


def test_area_under_the_curve(report: Any) -> None:
    # Of eight pairs, six are in order and one is tied.
    assert report.area_under_curve(questions(report)) == pytest.approx(6.5 / 8)


def test_thresholds(report: Any) -> None:
    made = questions(report)
    assert made.scores()["exact"] == pytest.approx(100 * 4 / 6)
    assert made.best_threshold() == 0.3
    assert made.scores(0.3)["exact"] == pytest.approx(100 * 5 / 6)
    assert made.only(lambda e: e.id == "n0").scores(0.3)["exact"] == 100.0
