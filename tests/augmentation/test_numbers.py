"""Other numbers: of the same kind and size, and in no form in the paragraph."""

import random
import re

import pytest

from readlet.augmentation.numbers import Numbers, find_numbers
from readlet.augmentation.passages import read_passage

ARTICLE = ("Lamps", "")


def altered(question: str, paragraph: str, *others: str) -> set[str]:
    """The new questions of many seeds."""
    passage = read_passage(paragraph)
    numbers = Numbers({ARTICLE: [passage, *map(read_passage, others)]})
    pieces = (numbers.replace(question, passage, ARTICLE, random.Random(n)) for n in range(60))
    return {piece.apply_to(question) for piece in pieces if piece is not None}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("in 1881", "year"),
        ("the 1880s", "decade"),
        ("the 19th century", "century"),
        ("the 3rd lamp", "1 signs th"),
        ("on May 3", "day"),
        ("on 3 May", "day"),
        ("$1900", "amount"),
        ("1,250 men", "5 signs"),
        ("3.5 miles", "1 signs.."),
    ],
)
def test_kinds(text: str, kind: str) -> None:
    assert [number.kind for number in find_numbers(text)] == [kind]


@pytest.mark.parametrize("text", ["F16", "A-16", "1/2", "10:30", "1990-91"])
def test_parts_of_words_are_not_numbers(text: str) -> None:
    assert [number for number in find_numbers(text) if number.start > 0] == []


def test_year_for_year() -> None:
    found = altered("Who came in 1881?", "Ada came in 1881.", "Tom left in 1895.")
    assert "Who came in 1895?" in found
    years = {int(question[-5:-1]) for question in found}
    assert len(years) > 5
    assert all(1821 <= year <= 1941 and year != 1881 for year in years)


def test_digits_commas_and_endings_stay() -> None:
    found = altered("How far is 1,250 miles?", "It is 1,250 miles.")
    assert found
    assert all(re.fullmatch(r"How far is \d,\d\d0 miles\?", question) for question in found)
    found = altered("Who led the 93rd Highlanders?", "Ada led the 93rd Highlanders.")
    assert found <= {f"Who led the {n} Highlanders?" for n in ("90th", "91st", "95th", "96th")}


@pytest.mark.parametrize(
    "paragraph",
    [
        "Ada had 3 lamps; two were lit, and four to nine were not, five, six, seven or eight.",
        "Ada had 5 lamps.",
    ],
    ids=["all others are spelled", "the number is not there"],
)
def test_number_that_is_not_replaced(paragraph: str) -> None:
    assert altered("Who had 3 lamps?", paragraph) == set()


def test_spelled_ordinals_are_not_used() -> None:
    paragraph = "Ada was the 5th keeper, after the second, the third and the eighth."
    assert altered("Who was the 5th keeper?", paragraph) == {"Who was the 7th keeper?"}


@pytest.mark.parametrize("word", ["after", "since", "more than", "by"])
def test_open_ranges_are_not_replaced(word: str) -> None:
    assert altered(f"Who came {word} 1881?", f"Ada came {word} 1881.") == set()


def test_lists_keep_their_order() -> None:
    assert (
        altered("What did the 17th and 18th centuries see?", "The 17th and 18th saw it.") == set()
    )


def test_times_that_the_paragraph_covers_are_not_used() -> None:
    found = altered("Who ruled in 1881?", "Ada ruled in 1881, Tom from 1840 to 1879.")
    assert not any(1840 <= int(question[-5:-1]) <= 1879 for question in found)
    assert altered("Who ruled in the 1880s?", "In the 1880s and in 1875 Ada did.") <= {
        f"Who ruled in the {decade}s?" for decade in (1860, 1850, 1840)
    }
    paragraph = "In the 19th century it was a lamp, in 1650 a candle, and in the 1590s a fire."
    assert altered("What was lit in the 19th century?", paragraph) == {
        "What was lit in the 20th century?"
    }


@pytest.mark.parametrize("reign", ["from 900 to 1066", "from 1040 to 1066", "1040-66"])
def test_years_after_a_range_are_used(reign: str) -> None:
    found = altered("Who ruled in 1081?", f"Ada ruled in 1081, Tom {reign}.")
    years = {int(question[-5:-1]) for question in found}
    assert years
    assert all(1066 < year < 1081 for year in years)


def test_percentages_are_at_most_100() -> None:
    found = altered("Where did 60 percent live?", "In Wick 60 percent did.")
    assert found
    assert all(int(question.split()[2]) <= 100 for question in found)
