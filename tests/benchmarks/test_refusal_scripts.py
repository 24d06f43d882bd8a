"""Scripts about refusals: results by kind of passage, and the cost of an expected share."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from readlet.inference.baseline import LexicalBaseline
from readlet.inference.calibration import Calibration
from readlet.inference.evaluate_questions import evaluate_parts
from readlet.inference.inputs import AnswerOptions
from readlet.inference.reader import Reader
from readlet.types import Example, Span

LAMP = "Ada lit the lamp at the cape."


def test_a_row_for_each_kind(load_script: Callable[[str], Any]) -> None:
    answerable = Example("1", "Who lit the lamp?", LAMP, (Span(0, "Ada"),))
    parts = {"a": [answerable, replace(answerable, id="2", answers=())], "b": [answerable]}
    both = [
        evaluate_parts(LexicalBaseline(), parts, AnswerOptions(always_answer=b))
        for b in (False, True)
    ]
    rows = [row.split(" | ") for row in load_script("by_kind").rows(*both)]
    assert [row[:2] for row in rows] == [["| a", "2"], ["| b", "1"], ["| together", "3"]]
    assert rows[1][6] == ""  # none without an answer
    assert rows[0][9].startswith("100.00")  # of the one with an answer


def test_the_cost_of_a_share_is_that_of_the_reader(
    load_script: Callable[[str], Any], random_reader: Callable[..., Reader]
) -> None:
    script = load_script("unanswerable_share")
    fitted = Calibration(no_answer_slope=0.5, no_answer_bias=0.3, unanswerable_share=0.3)
    reader = replace(random_reader(LAMP, null=True), calibration=fitted)
    examples = [
        Example(str(n), f"Who lit {'the lamp ' * n}?", LAMP, (Span(0, "Ada"),) if n % 2 else ())
        for n in range(8)
    ]
    found = script.costs(reader, examples)
    for share in (0.2, 0.5, 0.8):
        asked = [reader.answer(e.question, LAMP, unanswerable_share=share) for e in examples]
        refused = sum(p.abstained for p, e in zip(asked, examples, strict=True) if e.answers)
        answered = sum(
            not p.abstained for p, e in zip(asked, examples, strict=True) if not e.answers
        )
        assert found[share].abstained == pytest.approx(100 * refused / 4)
        assert found[share].answered == pytest.approx(100 * answered / 4)
