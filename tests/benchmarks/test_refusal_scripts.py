"""Scripts about refusals: results by kind of passage, and the cost of an expected share."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from readlet.bundled import corpus
from readlet.formats import read_examples
from readlet.reading.baseline import LexicalBaseline
from readlet.reading.calibration import Calibration
from readlet.reading.evaluate_several import evaluate_parts
from readlet.reading.reader import Reader
from readlet.types import Example, Span

LAMP = "Ada lit the lamp at the cape."


def test_the_kind_is_before_the_colon(load_script: Callable[[str], Any]) -> None:
    script = load_script("by_kind")
    assert script.kind_of("table: Spec sheet of a fridge") == "table"
    assert script.kind_of("Honey bees") == script.PLAIN
    parts = script.bundled_kinds()
    english = [e for e in read_examples(corpus("test")) if e.language == "en"]
    assert set(english) <= {example for part in parts.values() for example in part}


def test_a_row_for_each_kind(load_script: Callable[[str], Any]) -> None:
    answerable = Example("1", "Who lit the lamp?", LAMP, (Span(0, "Ada"),))
    parts = {"a": [answerable, replace(answerable, id="2", answers=())], "b": [answerable]}
    both = [evaluate_parts(LexicalBaseline(), parts, always_answer=b) for b in (False, True)]
    rows = [row.split(" | ") for row in load_script("by_kind").rows(*both)]
    assert [row[:2] for row in rows] == [["| a", "2"], ["| b", "1"], ["| together", "3"]]
    assert rows[1][6] == ""  # none without an answer


def test_the_cost_of_a_share_is_that_of_the_reader(
    load_script: Callable[[str], Any], random_reader: Callable[..., Reader]
) -> None:
    script = load_script("impossible_share")
    fitted = Calibration(no_answer_slope=0.5, no_answer_bias=0.3, impossible_share=0.3)
    reader = replace(random_reader(LAMP, null=True), calibration=fitted)
    examples = [
        Example(str(n), f"Who lit {'the lamp ' * n}?", LAMP, (Span(0, "Ada"),) if n % 2 else ())
        for n in range(8)
    ]
    found = script.costs(reader, examples)
    for share in (0.2, 0.5, 0.8):
        asked = [reader.answer(e.question, LAMP, impossible_share=share) for e in examples]
        refused = sum(p.refused for p, e in zip(asked, examples, strict=True) if e.answers)
        answered = sum(not p.refused for p, e in zip(asked, examples, strict=True) if not e.answers)
        assert found[share].refused == pytest.approx(100 * refused / 4)
        assert found[share].answered == pytest.approx(100 * answered / 4)
