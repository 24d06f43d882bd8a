"""Other names: similar in use, and in no form in the paragraph."""

import random

import pytest

from readlet.augmentation.names import Names
from readlet.augmentation.passages import read_passage

ARTICLE = ("Lamps_of_Norway", "")
PARAGRAPH = "A lamp was lit in Oslo by Ada Brook."


def altered(question: str, *others: str, paragraph: str = PARAGRAPH) -> set[str]:
    """The new questions of many seeds."""
    passage = read_passage(paragraph)
    names = Names({ARTICLE: [passage, *map(read_passage, others)]})
    pieces = (names.replace(question, passage, ARTICLE, random.Random(n)) for n in range(40))
    return {piece.apply_to(question) for piece in pieces if piece is not None}


def test_similar_name() -> None:
    others = ("It stood in Bergen for years.", "It was sold by Tom Hale again.")
    assert altered("Who lit a lamp in Oslo?", *others) == {"Who lit a lamp in Bergen?"}
    assert altered("What did Ada Brook do?", *others) == {"What did Tom Hale do?"}


def test_name_at_the_start() -> None:
    other = "It was sold by Tom Hale again."
    assert altered("Ada Brook lit what?", other) == {"Tom Hale lit what?"}
    assert altered("When Ada Brook came, who left?", other) == {"When Tom Hale came, who left?"}


@pytest.mark.parametrize(
    "other",
    ["Osloans", "Adaline", "Norway", "Norwegian", "Brookland", "Ads"],
    ids=["of the name", "of the paragraph", "title", "form of it", "longer word", "shorter word"],
)
def test_related_name_is_not_used(other: str) -> None:
    paragraph = PARAGRAPH + " Adalines and adsorbers were there."
    assert altered("Who lit a lamp in Oslo?", f"It stood in {other}.", paragraph=paragraph) == set()


@pytest.mark.parametrize(
    ("paragraph", "other"),
    [
        ("A lamp was lit in Oslo, a British one.", "London"),
        ("A lamp was lit in Oslo by the UN.", "Ural Narva"),
        ("A lamp was lit in Oslo by Ural Narva.", "UN"),
    ],
    ids=["other word for it", "initials", "initials of it"],
)
def test_alias_is_not_used(paragraph: str, other: str) -> None:
    assert altered("Who lit a lamp in Oslo?", f"It stood in {other}.", paragraph=paragraph) == set()


def test_longer_form_is_not_another_name() -> None:
    paragraph = "A mill stood in Bergen Hill."
    assert (
        altered("What stood in Bergen Hill?", "It was in Old Bergen Hill.", paragraph=paragraph)
        == set()
    )


@pytest.mark.parametrize(
    "question",
    [
        "Who lit a lamp in Lerwick?",
        "Who else besides Oslo had a lamp?",
        "Which town other than Oslo had a lamp?",
        "Who lit it?",
    ],
    ids=["not in the paragraph", "left out", "left out, too", "no name"],
)
def test_name_that_is_not_replaced(question: str) -> None:
    assert altered(question, "It stood in Bergen for years.") == set()


@pytest.mark.parametrize(
    ("name", "fits", "other"),
    [
        ("the Guild", "the Admiralty", "Tom"),
        ("Ada", "Tom", "the Admiralty"),
        ("a Scot", "a Dane", "an Indian"),
        ("an Indian", "an Afghan", "a Scot"),
    ],
)
def test_name_agrees_with_the_article(name: str, fits: str, other: str) -> None:
    paragraph = f"A lamp was lit by {name} in May."
    others = (f"It was lit by {fits} in July.", f"It was lit by {other} in June.")
    assert altered(f"What did {name} light?", *others, paragraph=paragraph) == {
        f"What did {fits} light?"
    }
