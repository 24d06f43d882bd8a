"""New impossible questions: without an answer, as many as wanted, and reproducible."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject, DrawFn, SearchStrategy

from readlet.augmentation.unanswerable_questions import (
    ANSWER_EVERYWHERE,
    BEST_FEW,
    NOTHING_LIKE_IT,
    NewQuestions,
    grouped_by_paragraph,
    how_many,
    pair_up,
)
from readlet.data import read_examples
from readlet.types import Example, Span

WORDS = "Mill mill's river Ada STRASSE straße 1881 188 oil the in of  \n \u00a0 , . 水".split(" ")
shares = st.floats(0.01, 0.99)


def pair_with_other_paragraphs(examples: list[Example], share: float, seed: int) -> NewQuestions:
    return pair_up(examples, how_many(examples, share), seed)


@st.composite
def articles(draw: DrawFn) -> list[Example]:
    """Articles of a few paragraphs from few words, so that answers often occur in several."""
    paragraphs = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)
    examples = []
    for title in draw(st.lists(st.sampled_from(["", "Mill", "Cape"]), min_size=1, max_size=3)):
        for context in draw(st.lists(paragraphs, min_size=1, max_size=5)):
            for _ in range(draw(st.integers(1, 3))):
                start = draw(st.integers(0, len(context)))
                answer = Span(start, context[start : draw(st.integers(start, len(context)))])
                impossible = draw(st.integers(0, 4)) == 0
                examples.append(
                    Example(
                        id=str(len(examples)),
                        question=draw(paragraphs),
                        context=context,
                        answers=() if impossible else (answer,),
                        is_impossible=impossible,
                        title=title,
                        language="en" if len(context) % 2 else "",
                    )
                )
    return examples


def letters(text: str) -> str:
    """Case-folded with normalised white space, independent of the code under test."""
    squeezed = "".join(" " if letter.isspace() else letter for letter in text.casefold())
    while "  " in squeezed:
        squeezed = squeezed.replace("  ", " ")
    return squeezed.strip()


def original(new: Example, examples: list[Example]) -> Example:
    (found,) = (e for e in examples if e.id == new.id.removesuffix("-elsewhere"))
    return found


def share_of(examples: list[Example]) -> float:
    return sum(example.is_impossible for example in examples) / len(examples)


@given(examples=articles(), share=shares, seed=st.integers(0, 3))
def test_new_questions_have_no_answer(examples: list[Example], share: float, seed: int) -> None:
    for new in pair_with_other_paragraphs(examples, share, seed).added:
        old = original(new, examples)
        assert new == replace(
            old,
            id=f"{old.id}-elsewhere",
            context=new.context,
            title=new.title,
            answers=(),
            is_impossible=True,
        )
        assert new.context != old.context
        assert (new.title, new.context) in {(e.title, e.context) for e in examples}
        for answer in old.answers:
            assert letters(answer.text) not in letters(new.context)
        # The paragraph does not have the same question with an answer.
        rivals = [e.question for e in examples if (e.title, e.context) == (new.title, new.context)]
        assert letters(new.question) not in map(letters, rivals)


@given(examples=articles(), share=shares)
def test_share_is_reached_or_every_question_was_tried(
    examples: list[Example], share: float
) -> None:
    pairing = pair_with_other_paragraphs(examples, share, 0)
    before, after = share_of(examples), share_of([*examples, *pairing.added])
    left = [identity for ids in pairing.left.values() for identity in ids]
    answerable = {e.id for e in examples if not e.is_impossible}
    assert set(left) <= answerable
    assert len(left) == len(set(left))
    assert not set(left) & {new.id.removesuffix("-elsewhere") for new in pairing.added}
    if before >= share:
        assert pairing.added == []
    elif len(pairing.added) < pairing.wanted:
        assert len(left) + len(pairing.added) == len(answerable)
        assert after < share
    else:
        # The share is as close as whole questions allow.
        assert abs(after - share) <= 0.5 / (len(examples) + len(pairing.added))


@given(data=st.data(), share=shares)
def test_same_seed_same_pairs_in_any_order(data: DataObject, share: float) -> None:
    examples = data.draw(articles())
    shuffled = data.draw(st.permutations(examples))
    pairing = pair_with_other_paragraphs(examples, share, 5)
    assert pair_with_other_paragraphs(examples, share, 5) == pairing
    assert pair_with_other_paragraphs(shuffled, share, 5) == pairing


@given(data=st.data(), share=shares)
def test_ids_are_distinct_whatever_the_data(
    data: DataObject, share: float, example_lists: SearchStrategy[list[Example]]
) -> None:
    examples = data.draw(example_lists)
    renamed = [replace(e, id=f"{e.id}-elsewhere") for e in examples[:2]]
    added = pair_with_other_paragraphs([*examples, *renamed], share, 0).added
    assert len({e.id for e in added}) == len(added)
    assert not {e.id for e in added} & {e.id for e in [*examples, *renamed]}


@given(examples=articles(), share=shares)
def test_everything_is_written_once_with_its_paragraph(
    examples: list[Example], share: float
) -> None:
    added = pair_with_other_paragraphs(examples, share, 0).added
    assume(added)
    merged = list(grouped_by_paragraph(examples, added))
    assert Counter(merged) == Counter([*examples, *added])
    assert [e for e in merged if e in set(examples)] == examples
    for before, new in pairwise(merged):
        if new in set(added):
            assert (before.title, before.context) == (new.title, new.context)


def lamp(identity: str, context: str, answer: str, title: str = "Cape Wick") -> Example:
    place = Span(context.index(answer), answer)
    return Example(identity, "Who lit the lamp of Cape Wick?", context, (place,), title=title)


LIT = lamp("lit", "The lamp of Cape Wick was lit by Ada Brook.", "Ada Brook")


def elsewhere(*contexts: str, old: Example = LIT, seeds: int = 1) -> set[str]:
    """Paragraphs that the question is paired with over several seeds, if only it can be paired."""
    others = [
        Example(str(n), f"Is this {n}?", context, is_impossible=True, title="Cape Wick")
        for n, context in enumerate(contexts)
    ]
    share = (len(others) + 1) / (len(others) + 2)  # one new question
    pairings = [pair_with_other_paragraphs([old, *others], share, seed) for seed in range(seeds)]
    assert {pairing.wanted for pairing in pairings} == {1}
    return {new.context for pairing in pairings for new in pairing.added}


@pytest.mark.parametrize(
    "other",
    [
        "Later ADA\u00a0\nBROOK left.",
        "Brook, Ada: see the list of keepers.",
        "Ada Brooks left.",
    ],
    ids=["other case and spaces", "other order", "inside a longer word"],
)
def test_paragraph_with_the_answer_is_not_used(other: str) -> None:
    assert elsewhere(other) == set()
    assert elsewhere(other, "A road leads there.") == {"A road leads there."}


def test_draws_among_the_most_similar_paragraphs() -> None:
    tempting = [
        "A second lamp was lit at Cape Wick.",
        "Cape Wick has a lamp.",
        "The Cape is stormy, and Wick is far.",
    ]
    dull = ["Goats are kept here.", "A road leads there. Who knows how many did?"]
    assert len(tempting) == BEST_FEW
    assert elsewhere(*dull, *tempting, seeds=40) == set(tempting)
    # Ties are broken without preference for a position.
    equal = [f"Goat number {n}." for n in range(2, 9)]
    assert elsewhere(*equal, seeds=120) == set(equal)


def test_an_article_has_one_language() -> None:
    other = replace(LIT, id="es", context="Una carretera.", answers=(Span(0, "Una"),))
    named = [replace(LIT, language="en"), replace(other, language="es")]
    assert pair_with_other_paragraphs(named, 0.5, 0).added == []


ENGLISH = [
    "The lamp of the cape was lit by Ada Brook and it is on the hill.",
    "The goats of the cape are kept for the milk and it is sold in the town.",
]
SPANISH = [
    "La lámpara del cabo fue encendida por Ada Brook y se ve en el pueblo.",
    "Las cabras del cabo se crían por la leche, que es para los del valle.",
]


def cape(context: str, identity: str) -> Example:
    answer = Span(0, context[:9])
    return Example(identity, f"{context[-9:]}?", context, (answer,), title="Cape")


def test_missing_language_of_an_article_is_guessed() -> None:
    """As in translations of one file: same titles and ids, and no language."""
    english = [cape(text, f"q{n}") for n, text in enumerate(ENGLISH)]
    spanish = [cape(text, f"q{n}") for n, text in enumerate(SPANISH)]
    for seed in range(10):
        added = pair_with_other_paragraphs([*english, *spanish], 0.5, seed).added
        assert {(new.question, new.context) for new in added} == {
            (english[0].question, ENGLISH[1]),
            (english[1].question, ENGLISH[0]),
            (spanish[0].question, SPANISH[1]),
            (spanish[1].question, SPANISH[0]),
        }


def test_the_same_question_is_paired_with_a_paragraph_once() -> None:
    """Two paragraphs have the same question; only one of them can be paired with the third."""
    other = lamp("other", "The lamp of Cape Wick was mended by Tom Hale.", "Tom Hale")
    goats = Example("goats", "What is kept?", "Goats are kept.", (Span(0, "Goats"),))
    examples = [LIT, other, replace(goats, title="Cape Wick")]
    pairing = pair_with_other_paragraphs(examples, 0.5, 0)
    places = [(new.question, new.context) for new in pairing.added]
    assert len(places) == len(set(places)) == 2
    assert (LIT.question, goats.context) in places
    assert pairing.left.keys() == {ANSWER_EVERYWHERE}


def test_questions_without_a_suitable_paragraph_are_reported() -> None:
    examples = [
        LIT,
        lamp("same", "Ada Brook left.", "Ada Brook"),
        lamp("alone", "Tom lit it.", "Tom", title="Elsewhere"),
        lamp("untitled", "Tom lit it.", "Tom", title=""),
        lamp("untitled-2", "Goats are kept.", "Goats", title=""),
    ]
    pairing = pair_with_other_paragraphs(examples, 0.5, 0)
    assert (pairing.added, pairing.wanted) == ([], 5)
    assert {reason: sorted(ids) for reason, ids in pairing.left.items()} == {
        ANSWER_EVERYWHERE: ["alone", "lit", "same", "untitled"],
        NOTHING_LIKE_IT: ["untitled-2"],
    }


def test_without_titles_questions_are_paired_with_similar_contexts(real_data: Path) -> None:
    """Every one has such a context; many are of its own article, although none is named."""
    titled = list(read_examples(real_data / "xquad" / "xquad.en.json.gz"))
    title_of = {example.context: example.title for example in titled}
    added = pair_up([replace(e, title="") for e in titled], len(titled), 0).added
    assert len(added) > 0.99 * len(titled)
    own = {example.id: example for example in titled}
    pairs = [(new, own[new.id.removesuffix("-elsewhere")]) for new in added]
    assert sum(title_of[new.context] == old.title for new, old in pairs) > 0.4 * len(pairs)
    for new, old in pairs:
        assert not any(letters(one.text) in letters(new.context) for one in old.answers)


def test_a_similar_document_that_may_answer_is_not_used() -> None:
    """Another contract has all words of the question; another version of the text has all words."""
    rent = "The rent of the flat in {} is {} euros a month, payable on the first."
    answer = (Span(32, "900"),)
    house = Example("a", "How much is the rent?", rent.format("Wick", 900), answer)
    assert answer[0].is_in(house.context)
    others = [
        rent.format("Ayr", 700),
        "In Ayr the rent rose last year, by much.",
        "The flat is let.",
    ]
    unasked = [Example(str(n), "Why?", text, is_impossible=True) for n, text in enumerate(others)]
    (new,) = pair_up([house, *unasked], 1, 0).added
    assert new.context == "The flat is let."
