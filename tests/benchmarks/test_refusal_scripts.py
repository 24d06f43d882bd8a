"""Scripts about refusals: results by kind of passage, and the cost of an expected share."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from readlet.inference.baseline import LexicalBaseline
from readlet.inference.inputs import ALL_ANSWERABLE, DEFAULTS
from readlet.types import Example, Span

LAMP = "Ada lit the lamp at the cape."


def test_a_row_for_each_kind(load_script: Callable[[str], Any]) -> None:
    answerable = Example("1", "Who lit the lamp?", LAMP, (Span(0, "Ada"),))
    parts = {"a": [answerable, replace(answerable, id="2", answers=())], "b": [answerable]}
    script, reader = load_script("by_kind"), LexicalBaseline()
    both = [script.evaluate_parts(reader, parts, how) for how in (DEFAULTS, ALL_ANSWERABLE)]
    rows = [row.split(" | ") for row in script.rows(*both)]
    assert [row[:2] for row in rows] == [["| a", "2"], ["| b", "1"], ["| together", "3"]]
    assert rows[1][6] == ""  # none without an answer
    assert rows[0][9].startswith("100.00")  # of the one with an answer
