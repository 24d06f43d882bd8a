"""Kinds of error: one passage, many wrong answers."""

from collections.abc import Callable
from typing import Any

import pytest

from readlet.types import Example, Prediction, Span

CONTEXT = "In 1881 the keeper Ada Brook lit the lamp, and 40 boats came home. Brook left in 1904."


def predicted(text: str) -> Prediction:
    start = CONTEXT.index(text)
    return Prediction(text, start, start + len(text), score=0.5, no_answer=0.1, abstained=not text)


@pytest.mark.parametrize(
    ("gold", "prediction", "kind"),
    [
        ("the lamp", "lamp", None),  # articles do not count
        ("Ada Brook", "keeper Ada Brook", "borders"),
        ("1881", "1904", "same form"),
        ("Ada Brook", "1904", "elsewhere"),
        ("Ada Brook", "", "abstained"),
        ("", "Ada Brook", "answered"),
    ],
)
def test_kinds(
    load_script: Callable[[str], Any], gold: str, prediction: str, kind: str | None
) -> None:
    kinds = load_script("error_kinds")
    answers = (Span(CONTEXT.index(gold), gold),) if gold else ()
    example = Example("q", "Who or what?", CONTEXT, answers, language="en")
    assert kinds.error_kind(example, predicted(prediction), "2.0") == kind
