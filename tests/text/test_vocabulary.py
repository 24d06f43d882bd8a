"""Which words and characters get an id, and which vector belongs to it."""

from collections import Counter
from typing import Any, Literal
from unicodedata import normalize

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readlet.text.word_features import (
    NULL,
    PADDING,
    SPECIAL_CHARACTERS,
    SPECIAL_WORDS,
    UNKNOWN,
    Vocabulary,
    build_vocabulary,
    frozen_table,
    plain,
)

COUNTS = Counter({"The": 9, "the": 20, "Zorb": 3, "zorb": 2, "quib": 5, "rare": 1, "sea": 4})


def build(
    counts: Counter[str] = COUNTS, words: tuple[str, ...] = ("sea", "the"), **o: Any
) -> Vocabulary:
    options = {
        "trainable_words": 10,
        "min_count": 3,
        "min_character_count": 1,
        "max_characters": 5,
    } | o
    forms = Counter({("", word): count for word, count in counts.items()})
    return build_vocabulary(forms, list(words), **options)


def test_words_with_a_vector_are_frozen_and_frequent_others_are_trainable() -> None:
    known = build()
    assert known.frozen == ("sea", "the")  # in the order of the vectors
    assert known.trainable == ("quib", "zorb")  # 5 each in any spelling; alphabetically
    assert known.trainable_rows == SPECIAL_WORDS + 2
    # Padding, unknown, null, then trainable, then frozen.
    assert [known.word_number(w) for w in ("quib", "zorb", "sea", "the")] == [3, 4, 5, 6]
    assert known.word_number("rare") == UNKNOWN < known.trainable_rows
    assert len({PADDING, UNKNOWN, NULL, 3}) == 4


def test_case_and_typographic_apostrophe_fall_back() -> None:
    counts = Counter({"L’": 3, "l'": 3, "Zorb": 3})
    known = build(counts, ("Paris", "paris", "don't", "'s"))
    assert known.frozen[0] == "Paris"
    assert known.word_number("Paris") != known.word_number("paris")  # exact spelling first
    assert known.word_number("PARIS") == known.word_number("paris")
    assert known.word_number("Don’t") == known.word_number("don't") != UNKNOWN
    assert known.word_number("’S") == known.word_number("'s") != UNKNOWN
    assert known.trainable == ("l'", "zorb")
    assert known.word_number("L’") == known.word_number("l'") == 3
    assert known.word_number("ZORB") == 4


@pytest.mark.parametrize("word", ["Café", "été", "Ω", "한국", "L’été"])
@pytest.mark.parametrize("trained", ["NFC", "NFD"])
def test_accents_may_be_combining_characters(word: str, trained: Literal["NFC", "NFD"]) -> None:
    whole, apart = normalize("NFC", word), normalize("NFD", word)
    known = build(Counter({normalize(trained, word): 9, "e": 9}), (), max_characters=8)
    assert known.word_number(whole) == known.word_number(apart) != UNKNOWN
    assert known.character_numbers(whole) == known.character_numbers(apart)
    assert UNKNOWN not in known.character_numbers(whole)
    assert plain(whole) == plain(apart)
    frozen = build(Counter({apart: 9}), (whole,))
    assert frozen.trainable == ()  # the vector is found for it
    assert frozen.word_number(apart) == frozen.word_number(whole) == SPECIAL_WORDS


def test_a_word_whose_plain_form_has_a_vector_is_not_trainable() -> None:
    known = build(Counter({"SEA": 50, "Sea’s": 50}), ("sea", "sea's"))
    assert known.trainable == ()
    assert known.word_number("SEA") == SPECIAL_WORDS


def test_character_numbers() -> None:
    known = build(Counter({"abba": 2, "ac": 1, "水": 1, "Z": 1}), (), min_character_count=1)
    assert known.characters == "abZc水"  # 5 a, 4 b, then by code point
    assert known.character_count == SPECIAL_CHARACTERS + 5
    assert known.character_numbers("ab") == [2, 3, PADDING, PADDING, PADDING]
    assert known.character_numbers("aб水") == [2, UNKNOWN, 6, PADDING, PADDING]
    assert known.character_numbers("abbabba") == [2, 3, 3, 2, 3]  # the first five
    assert known.character_numbers("") == [PADDING] * 5
    rare = build(Counter({"abba": 2, "ac": 1}), (), min_character_count=2)
    assert rare.characters == "ab"


@given(
    st.dictionaries(st.text(min_size=1, max_size=4), st.integers(1, 9)),
    st.lists(st.text(min_size=1, max_size=4), unique=True),
)
def test_every_number_has_one_meaning(counts: dict[str, int], words: list[str]) -> None:
    known = build(Counter(counts), tuple(words), min_count=1, trainable_words=3)
    listed = [*known.trainable, *known.frozen]
    assert len(set(listed)) == len(listed)
    assert [known.word_number(word) for word in listed] == [
        SPECIAL_WORDS + i for i in range(len(listed))
    ]
    for word in counts:
        number = known.word_number(word)
        assert number == UNKNOWN or listed[number - SPECIAL_WORDS] in (word, plain(word))
        characters = known.character_numbers(word)
        assert len(characters) == 5
        assert max(characters) < known.character_count


def test_frozen_table() -> None:
    known = build()
    vectors = np.array([[1, 2], [3, 4]], np.float32)
    table = frozen_table(known, vectors, 2)
    assert table.dtype == np.float32
    assert (table[: known.trainable_rows] == 0).all()
    np.testing.assert_array_equal(table[known.word_number("The")], [3, 4])
    none = frozen_table(build(words=()), None, 7)
    assert none.shape == (build(words=()).trainable_rows, 7)
    assert not none.any()


def test_words_are_looked_up_by_language() -> None:
    counts = Counter({("en", "Me"): 5, ("es", "me"): 5, ("es", "Río"): 4, ("en", "río"): 2})
    counts |= Counter({("", "río"): 3, ("es", "Ada"): 9, ("en", "rare"): 1})
    known = build_vocabulary(
        counts,
        ["en:me", "es:me", "en:ada", "zorb"],
        trainable_words=10,
        min_count=2,
        min_character_count=1,
        max_characters=5,
        languages=("en", "es"),
    )
    assert known.trainable == ("es:río", "río", "en:río")
    first = known.trainable_rows
    assert [known.word_number("Me", code) for code in ("en", "es")] == [first, first + 1]
    assert known.word_number("me") == known.word_number("me", "fr") == first  # the first language
    assert known.word_number("Ada", "es") == first + 2  # a name that only the other one has
    assert known.word_number("zorb", "es") == known.word_number("zorb") == first + 3
    numbers = [known.word_number("río", code) for code in ("es", "", "en")]
    assert numbers == [SPECIAL_WORDS, SPECIAL_WORDS + 1, SPECIAL_WORDS + 2]
    assert known.word_number("none", "es") == UNKNOWN
    assert [known.language_number(code) for code in ("", "en", "es", "fr")] == [0, 1, 2, 0]
    assert Vocabulary.from_json(known.to_json()) == known


@pytest.mark.parametrize("languages", ["en", ["xx"], [3], 3])
def test_damaged_languages(languages: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        Vocabulary.from_json(build().to_json() | {"languages": languages})
