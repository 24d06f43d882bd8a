"""Which language a text is in: what the data says, else a guess, else unknown."""

from typing import Any

import pytest

from readlet.text.word_features import TextLanguages
from readlet.types import Example

ENGLISH, SPANISH = "Who built the mill?", "El molino fue construido por los vecinos."


def languages(question: str, context: str, known: str = "en es", **given: Any) -> tuple[str, str]:
    context_pair, question_pair = TextLanguages(known.split()).texts(
        Example("", question, context, **given)
    )
    assert (context_pair[0], question_pair[0]) == (context, question)
    return context_pair[1], question_pair[1]


def test_both_are_guessed() -> None:
    assert languages(ENGLISH, SPANISH) == ("es", "en")
    assert languages("1904?", SPANISH) == ("es", "es")  # nothing shows it: that of the context
    assert languages("1904?", "1904") == ("", "")


@pytest.mark.parametrize("given", ["es", "ES", "es-MX", "es_419", " es "])
def test_what_the_data_says_counts(given: str) -> None:
    assert languages("1904?", ENGLISH, language=given) == ("es", "es")
    assert languages(ENGLISH, SPANISH, question_language=given) == ("es", "es")
    assert languages(ENGLISH, SPANISH, language="en", question_language=given) == ("en", "es")


def test_a_language_that_the_reader_does_not_know_is_unknown() -> None:
    assert languages(ENGLISH, SPANISH, "de") == ("", "")
    assert languages("1904?", SPANISH, language="pt") == ("", "")
    assert languages(ENGLISH, SPANISH, language="pt") == ("", "en")
    assert languages(ENGLISH, SPANISH, question_language="pt") == ("es", "")


def test_what_is_no_code_is_not_given() -> None:
    assert languages(ENGLISH, SPANISH, language="Spanish", question_language="?") == ("es", "en")


def test_a_reader_without_languages_reads_all_alike() -> None:
    assert languages(ENGLISH, SPANISH, "", language="es") == ("", "")
