"""Where a "not" is inserted, and where not."""

import pytest

from readlet.augmentation.opposites import negate
from readlet.augmentation.passages import read_passage


def altered(question: str, paragraph: str = "Ada Brook lit the lamp.") -> str | None:
    piece = negate(question, read_passage(paragraph))
    return piece and piece.apply_to(question)


@pytest.mark.parametrize(
    ("question", "new"),
    [
        ("What did Ada Brook build?", "What did Ada Brook not build?"),
        ("Where does she live?", "Where does she not live?"),
        ("Which mill did the town sell?", "Which mill did the town not sell?"),
        ("What was built in 1881?", "What was not built in 1881?"),
        ("Who is known there?", "Who is not known there?"),
        ("Which old mill was sold?", "Which old mill was not sold?"),
        ("What can be seen?", "What can not be seen?"),
    ],
)
def test_negation(question: str, new: str) -> None:
    assert altered(question) == new


@pytest.mark.parametrize(
    "question",
    [
        "What did Ada Brook students build?",
        "What did Ada not build?",
        "When did Ada build it?",
        "What year did Ada build it?",
        "How was it built?",
        "What was the lamp?",
        "Who else was known there?",
        "Why?",
    ],
)
def test_question_that_is_not_negated(question: str) -> None:
    assert altered(question) is None


@pytest.mark.parametrize("paragraph", ["Ada did not.", "Tom didn't.", "All except Tom."])
def test_paragraph_that_denies_something(paragraph: str) -> None:
    assert altered("What did Ada build?", paragraph) is None
