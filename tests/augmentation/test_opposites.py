"""The table of opposites, and when a word may become its opposite."""

import random

import pytest

from readlet.augmentation.opposites import OPPOSITES, PAIRS, replace_by_opposite
from readlet.augmentation.passages import read_passage


def altered(question: str, paragraph: str) -> str | None:
    piece = replace_by_opposite(question, read_passage(paragraph), random.Random(0))
    return piece and piece.apply_to(question)


def test_table_is_symmetric_and_without_duplicates() -> None:
    words = [word for pair in PAIRS for word in pair]
    assert len(words) == len(set(words))
    assert OPPOSITES.keys() == set(words)
    for one, other in PAIRS:
        assert OPPOSITES[one].text == other
        assert OPPOSITES[other].text == one
        # The words of one side do not include those of the other.
        assert other in OPPOSITES[one].forbidden
        assert one in OPPOSITES[other].forbidden


@pytest.mark.parametrize(
    ("question", "paragraph", "new"),
    [
        ("Who won the cup?", "Ada won it.", "Who lost the cup?"),
        ("What increased in May?", "The rents increased.", "What decreased in May?"),
        ("What is the largest lake?", "The biggest lake is Inari.", "What is the smallest lake?"),
        ("Who came before the war?", "Ada came before it.", "Who came after the war?"),
        ("Who made the most oil?", "Ada made most oil.", "Who made the least oil?"),
        ("What lies north of Wick?", "The north has a mill.", "What lies south of Wick?"),
        ("When did the fair begin?", "It began here.", "When did the fair end?"),
    ],
)
def test_opposite(question: str, paragraph: str, new: str) -> None:
    assert altered(question, paragraph) == new


@pytest.mark.parametrize(
    ("question", "paragraph"),
    [
        ("Who came first?", "Ada came first, Tom last."),
        ("Who came first?", "Ada came first, and finally Tom."),
        ("Who came first?", "Ada came early."),
        ("Who came first and last?", "Ada came first."),
        ("What is her first name?", "Her first name is Ada."),
        ("What is First Street?", "The first street."),
        ("First came who?", "Ada came first."),
        ("What do most people eat?", "Most eat bread."),
        ("Where was Kanye west born?", "In the west."),
        ('Who said "the first lamp"?', "Ada said: the first lamp."),
        ("What was lost during the storm?", "A lamp was lost."),
        ("Which high end shop is it?", "It ends there."),
    ],
)
def test_word_that_is_not_replaced(question: str, paragraph: str) -> None:
    assert altered(question, paragraph) is None
