"""Altered questions: one piece differs, the paragraph lacks it, and the draw is reproducible."""

import re
import time
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject, DrawFn, SearchStrategy

from readlet.augmentation.altered_questions import (
    MIX,
    NAME,
    NEGATION,
    NO_RULE,
    NOT_ENGLISH,
    NUMBER,
    OPPOSITE,
    alter_questions,
)
from readlet.data import read_examples
from readlet.types import Example, Span

PEOPLE = ["Ada Brook", "Tom Hale", "Eve Stone", "Ida Marsh", "Sam Lund", "Kit Ferro"]
TOWNS = ["Wick", "Lerwick", "Bergen", "Oslo", "Tromso", "Narvik"]


@st.composite
def articles(draw: DrawFn) -> list[Example]:
    """Paragraphs with a few people, towns and years, and questions to which all rules apply."""
    examples: list[Example] = []
    for title in draw(st.lists(st.sampled_from(["", "Lamps", "Mills"]), min_size=1, max_size=3)):
        for _ in range(draw(st.integers(1, 4))):
            who, where = draw(st.sampled_from(PEOPLE)), draw(st.sampled_from(TOWNS))
            year = draw(st.integers(1870, 1890))
            first = draw(st.sampled_from(["first", "last", "largest"]))
            context = f"The {first} lamp was lit by {who} in {where} in {year}."
            questions = [
                f"Who lit the {first} lamp in {where}?",
                f"What was lit by {who} in {year}?",
                f"Where did {who} light the {first} lamp?",
                "What was lit?",
                "Why?",
            ]
            for question in draw(st.lists(st.sampled_from(questions), min_size=1, max_size=3)):
                impossible = draw(st.integers(0, 4)) == 0
                span = Span(context.index(who), who)
                examples.append(
                    Example(
                        id=str(len(examples)),
                        question=question,
                        context=context,
                        answers=() if impossible else (span,),
                        is_impossible=impossible,
                        title=title,
                    )
                )
    return examples


def changed(old: str, new: str) -> tuple[str, str]:
    """The difference in whole words: the pieces of the old and the new question."""
    before, after = old.split(" "), new.split(" ")
    while before and after and before[0] == after[0]:
        del before[0], after[0]
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    return " ".join(before).strip("?,."), " ".join(after).strip("?,.")


def kind_of(new: Example, kinds: dict[str, list[str]]) -> str:
    (kind,) = (kind for kind, ids in kinds.items() if new.id in ids)
    return kind


@given(examples=articles(), wanted=st.integers(0, 20), seed=st.integers(0, 3))
def test_one_piece_differs_and_the_paragraph_lacks_it(
    examples: list[Example], wanted: int, seed: int
) -> None:
    result = alter_questions(examples, wanted, seed)
    old_ids = {example.id: example for example in examples}
    for new in result.added:
        old = old_ids[new.id.removesuffix("-altered")]
        assert old.answers
        assert new == replace(
            old,
            id=f"{old.id}-altered",
            question=new.question,
            answers=(),
            is_impossible=True,
            plausible_answers=old.answers,
        )
        gone, came = changed(old.question, new.question)
        assert new.question.split()[0] == old.question.split()[0]
        if kind_of(new, dict(result.kinds)) == NEGATION:
            assert (gone, came) == ("", "not")
        else:
            assert gone
            assert came
            assert old.question.replace(gone, came, 1) == new.question
            # As words: Wick is allowed where Lerwick occurs.
            assert not re.search(rf"\b{re.escape(came)}\b", old.context, re.IGNORECASE)
    # No paragraph has the same question twice.
    asked = [(e.title, e.context, e.question) for e in [*examples, *result.added]]
    assert all(Counter(asked)[e.title, e.context, e.question] == 1 for e in result.added)


@given(examples=articles(), wanted=st.integers(0, 20))
def test_nothing_is_dropped_silently(examples: list[Example], wanted: int) -> None:
    result = alter_questions(examples, wanted, 0)
    made = [identity for ids in result.kinds.values() for identity in ids]
    assert sorted(made) == sorted(new.id for new in result.added)
    assert len(made) <= wanted == result.wanted
    left = [identity for ids in result.left.values() for identity in ids]
    used = {new.id.removesuffix("-altered") for new in result.added}
    answerable = {e.id for e in examples if e.answers}
    assert len(left) == len(set(left))
    assert set(left) <= answerable - used
    if len(made) < wanted:
        assert set(left) | used == answerable


@given(data=st.data(), wanted=st.integers(1, 12))
def test_same_seed_same_questions_in_any_order(data: DataObject, wanted: int) -> None:
    examples = data.draw(articles())
    shuffled = data.draw(st.permutations(examples))
    result = alter_questions(examples, wanted, 5)
    assert alter_questions(examples, wanted, 5) == result
    assert alter_questions(shuffled, wanted, 5) == result


@given(data=st.data(), wanted=st.integers(0, 9))
def test_ids_are_distinct_whatever_the_data(
    data: DataObject, wanted: int, example_lists: SearchStrategy[list[Example]]
) -> None:
    examples = [*data.draw(example_lists), *data.draw(articles())]
    # Ids may repeat in invalid data; those of the new questions never do.
    renamed = [replace(e, id=f"{e.id}-altered") for e in examples[-2:]]
    added = alter_questions([*examples, *renamed], wanted, 0).added
    assert len({e.id for e in added}) == len(added)
    assert not {e.id for e in added} & {e.id for e in [*examples, *renamed]}


LAMP = Example(
    "lamp",
    "Who lit the first lamp in Wick?",
    "The first lamp was lit by Ada Brook in Wick in 1881, and that was of use to all.",
    (Span(26, "Ada Brook"),),
    title="Lamps",
)


def test_another_seed_another_rule() -> None:
    others = [
        replace(LAMP, id=town, context=f"A mill stood in {town}.", question="Why?", answers=())
        for town in ("Bergen", "Oslo")
    ]
    results = [alter_questions([LAMP, *others], 1, seed) for seed in range(150)]
    assert {new.question for result in results for new in result.added} == {
        "Who lit the last lamp in Wick?",
        "Who lit the first lamp in Bergen?",
        "Who lit the first lamp in Oslo?",
    }


def test_questions_that_no_rule_changes_are_reported() -> None:
    examples = [replace(LAMP, question="Why?"), replace(LAMP, id="es", language="es")]
    result = alter_questions(examples, 2, 0)
    assert result.added == []
    assert result.left == {NO_RULE: ["lamp"], NOT_ENGLISH: ["es"]}


def test_missing_language_is_guessed() -> None:
    spanish = (
        "La primera lámpara de la isla se encendió en el año 1881 por Ada Brook y es de los reyes."
    )
    result = alter_questions([replace(LAMP, context=spanish, answers=(Span(0, "La"),))], 1, 0)
    assert result.left == {NOT_ENGLISH: ["lamp"]}


def test_names_of_the_translated_article_are_not_used() -> None:
    spanish = "El libro de la isla y los reyes: A mill stood in Bergen."
    other = replace(LAMP, id="es", context=spanish, question="¿?", answers=())
    questions = [
        new.question for seed in range(40) for new in alter_questions([LAMP, other], 1, seed).added
    ]
    assert set(questions) == {"Who lit the last lamp in Wick?"}


def test_the_new_question_is_not_one_that_exists() -> None:
    """ "What was the last lamp?" would be the opposite, but it exists already."""
    asked = replace(LAMP, id="asked", question="Who  lit the LAST lamp in Wick?")
    result = alter_questions([LAMP, replace(asked, answers=())], 1, 0)
    assert result.left == {NO_RULE: ["lamp"]}


def test_id_that_is_taken() -> None:
    taken = replace(LAMP, id="lamp-altered", question="Why?")
    (new,) = alter_questions([LAMP, taken], 1, 0).added
    assert new.id == "lamp-altered-2"


def test_texts_without_a_title_share_no_names() -> None:
    examples = [
        replace(LAMP, title="", question="Who lit the lamp in Wick?"),
        replace(LAMP, id="other", title="", context="A mill stood in Bergen.", answers=()),
    ]
    assert alter_questions(examples, 1, 0).added == []


def test_squad_train(real_data: Path) -> None:
    """The first articles: all of it takes many times as long and shows no more."""
    examples = list(islice(read_examples(real_data / "squad" / "train-v1.1.json.gz"), 5_000))
    start = time.process_time()
    result = alter_questions(examples, 1_500, 0)
    assert time.process_time() - start < 4
    assert len(result.added) == result.wanted == len({new.id for new in result.added})
    for kind, part in MIX.items():
        # The data allows the fewest negations; names and numbers fill in.
        assert len(result.kinds[kind]) / 1_500 == pytest.approx(part, abs=0.05)
    old_ids = {example.id: example for example in examples}
    kinds = {identity: kind for kind, ids in result.kinds.items() for identity in ids}
    for new in result.added:
        old = old_ids[new.id.removesuffix("-altered")]
        gone, came = changed(old.question, new.question)
        assert new.plausible_answers == old.answers
        assert old.question != new.question
        if kinds[new.id] in (NUMBER, OPPOSITE):
            word = came.casefold().removesuffix("'s").split("-")[0].strip("()$\"'")
            assert word not in old.context.casefold().replace(",", " ").split()
        elif kinds[new.id] == NAME:
            assert not re.search(rf"\b{re.escape(came)}\b", old.context)
        else:
            assert (gone, came) == ("", "not")
