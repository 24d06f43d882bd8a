"""Every stage by itself."""

from collections.abc import Mapping

import numpy as np
import pytest

from readlet.augmentation.relocation.cascade import agree, core
from readlet.augmentation.relocation.probe_texts import (
    BRACKETS,
    GUILLEMETS,
    Place,
    asked_sentences,
    place_of,
)
from readlet.augmentation.relocation.stages import (
    Alignment,
    _best_run,
    find_by_bigrams,
    find_exact,
    find_inflected,
    find_marked,
)
from readlet.augmentation.translation.types import Link, SentencePair, TranslatedText
from readlet.types import Span


def text_of(source: str, target: str, links: tuple[Link, ...] | None = None) -> TranslatedText:
    pair = SentencePair((0, len(source)), (0, len(target)), links)
    return TranslatedText(source, target, (pair,))


def place(source: str, answer: str, target: str, links: tuple[Link, ...] | None = None) -> Place:
    span = Span(source.index(answer), answer)
    return place_of(
        asked_sentences(source, span, [(0, len(source))]), text_of(source, target, links)
    )


def marked(source: str, answer: str, target: str, translation: str, signs: tuple[str, str]) -> str:
    span = Span(source.index(answer), answer)
    asked = asked_sentences(source, span, [(0, len(source))])
    there = place_of(asked, text_of(source, target))
    found = find_marked(signs, there, asked, lambda _: translation)
    return there.span(found).text if found else ""


SOURCE, TARGET = "The white lamp burns.", "La lámpara blanca arde."


@pytest.mark.parametrize(
    ("translation", "found"),
    [
        ("La [lámpara blanca] arde.", "lámpara blanca"),
        ("La [ lámpara blanca ] arde.", "lámpara blanca"),
        ("LA [LÁMPARA BLANCA] ARDE.", "lámpara blanca"),
        ("Una [lámpara blanca] arde.", "lámpara blanca"),
        ("La [lámpara blanca] quema.", "lámpara blanca"),
        ("La lámpara blanca arde.", ""),
        ("La [lámpara blanca arde.", ""),
        ("La ]lámpara blanca[ arde.", ""),
        ("La [] lámpara blanca arde.", ""),
        ("La [lámpara] [blanca] arde.", ""),
        ("Un [farol] brilla mucho.", ""),
    ],
)
def test_markers_are_found_and_leave_no_trace(translation: str, found: str) -> None:
    assert marked(SOURCE, "white lamp", TARGET, translation, BRACKETS) == found
    loose = translation.replace("[", "«").replace("]", "»")
    assert marked(SOURCE, "white lamp", TARGET, loose, GUILLEMETS) == found


def test_exact_takes_the_nearest_occurrence() -> None:
    source = "The king met a king."
    early = place(source, "king", "El rey vio al rey.")
    assert find_exact(early, ["Rey"]) == (1, 2)
    late = place_of(
        asked_sentences(source, Span(15, "king"), [(0, 20)]), text_of(source, "El rey vio al rey.")
    )
    assert find_exact(late, ["Rey"]) == (4, 5)
    assert find_exact(late, ["reyes", "reina"]) is None


@pytest.mark.parametrize(
    ("alone", "found"),
    [
        ("Lámpara blanco", "lámpara blanca"),
        ("lampara blanca", "lámpara blanca"),
        ("Blancas lámparas", "lámpara blanca"),
        ("mesa verde", ""),
        ("", ""),
    ],
)
def test_inflected_words_are_found_in_any_order(alone: str, found: str) -> None:
    there = place(SOURCE, "white lamp", TARGET)
    span = find_inflected(there, [alone])
    assert (there.span(span).text if span else "") == found


WORDS: Mapping[str, str] = {"The": "El", "white": "blanco", "lamp": "lámpara", "burns": "quema"}


def test_words_are_aligned_by_their_own_translations() -> None:
    there = place(SOURCE, "white lamp", TARGET)
    alignment = Alignment(there, lambda word: WORDS.get(word, word))
    assert set(alignment.links) >= {(1, 2), (2, 1)}
    assert alignment.find() == (1, 3)
    assert alignment.is_consistent((1, 3))
    assert alignment.is_consistent((1, 4))  # a word without a link says nothing
    assert not alignment.is_consistent((1, 2))  # cuts the answer


def test_links_of_the_engine_come_first() -> None:
    links = (
        Link((0, 3), (0, 2)),
        Link((4, 9), (11, 17)),
        Link((10, 14), (3, 10)),
        Link((15, 20), (18, 22)),
    )
    there = place(SOURCE, "lamp", TARGET, links)

    def never(_: str) -> str:
        raise AssertionError

    alignment = Alignment(there, never)
    assert set(alignment.links) == {(0, 0), (1, 2), (2, 1), (3, 3)}
    assert alignment.find() == (1, 2)
    assert not alignment.is_consistent((1, 3))


def test_bigrams_find_a_paraphrase() -> None:
    source = "It was lit by old Ada Brook in Oslo."
    there = place(source, "Ada Brook", "It was lighted by the old Ada Brooks in Oslo.")
    found = find_by_bigrams(there, ["Ada Brook"])
    assert found
    assert there.span(found).text == "Ada Brooks"
    assert find_by_bigrams(there, ["", "?"]) is None


def test_guillemets_may_become_quotation_marks() -> None:
    source, target = "He saw the old lamp.", "He saw the ancient lamp."
    quoted = 'He saw the "ancient lamp".'
    assert marked(source, "old lamp", target, quoted, GUILLEMETS) == "ancient lamp"
    assert not marked(source, "old lamp", target, quoted, BRACKETS)
    assert not marked(source, "old lamp", target, 'He saw "the" "ancient lamp".', GUILLEMETS)
    own = 'He saw the "old" lamp.'  # which marks are ours?
    assert not marked(own, "lamp", target, 'He saw the "ancient" lamp.', GUILLEMETS)


def test_spans_agree_but_for_articles_and_signs() -> None:
    words = ("en", "la", "casa", "vieja", ",", "roja", ".")
    assert core((0, 5), words, "es") == (2, 4)
    assert agree((1, 4), (2, 5), words, "es")
    assert not agree((2, 4), (2, 6), words, "es")
    assert core((0, 2), words, "es") == (0, 2)  # nothing but light words
    assert core((1, 4), words, "xx") == (1, 4)


def test_best_run_against_all_runs() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        gain = rng.integers(-4, 5, size=rng.integers(1, 8)).astype(float)
        runs = [(i, j) for i in range(len(gain)) for j in range(i + 1, len(gain) + 1)]
        best = max(float(gain[i:j].sum()) for i, j in runs)
        found = _best_run(gain)
        assert (found is None) == (best <= 0)
        assert found is None or float(gain[slice(*found)].sum()) == best
