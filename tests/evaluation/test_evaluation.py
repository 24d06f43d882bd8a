"""The complete evaluation: official keys, intervals, breakdowns, comparison, and its speed."""

import random
from unicodedata import normalize

import pytest

from readlet.bundled import corpus
from readlet.data import read_examples
from readlet.errors import ReadletError
from readlet.evaluation.evaluation import TYPES, evaluate, question_type
from readlet.evaluation.squad import (
    SPANS,
    best_thresholds,
    question_items,
    score_questions,
    summary,
)
from readlet.evaluation.statistics import difference_p, score_interval
from readlet.types import Example, Span


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    return list(read_examples(corpus("train")))


def some_predictions(examples: list[Example], seed: int, skill: float = 0.5) -> dict[str, str]:
    """Correct with probability `skill`; otherwise a refusal or the beginning of the context."""
    draw = random.Random(seed)
    return {
        example.id: example.answers[0].text
        if example.answers and draw.random() < skill
        else draw.choice(["", example.context[:30]])
        for example in examples
    }


def some_probabilities(examples: list[Example], seed: int) -> dict[str, float]:
    draw = random.Random(seed)
    return {example.id: round(draw.random(), 2) for example in examples}


def test_the_evaluation_combines_its_parts(examples: list[Example]) -> None:
    predictions, other = some_predictions(examples, 1), some_predictions(examples, 2, skill=0.42)
    # Partly correct for some questions, so that F1 and exact match differ.
    predictions |= {e.id: f"{e.answers[0].text} indeed" for e in examples[::5] if e.answers}
    na_probs = some_probabilities(examples, 3)
    got = evaluate(examples, predictions, na_probs=na_probs, against=other)

    scores = score_questions(examples, predictions, "2.0")
    others = score_questions(examples, other, "2.0")
    assert got.official == summary(scores) | best_thresholds(scores, na_probs)
    assert got.missing == []
    ours, theirs = question_items(scores), question_items(others)
    assert got.intervals == {n: score_interval(SPANS.metric(n), ours) for n in ("exact", "f1")}
    assert got.against == {
        "exact": summary(others)["exact"],
        "f1": summary(others)["f1"],
        "exact_difference": summary(scores)["exact"] - summary(others)["exact"],
        "f1_difference": summary(scores)["f1"] - summary(others)["f1"],
        "exact_p": difference_p(SPANS.metric("exact"), ours, theirs),
        "f1_p": difference_p(SPANS.metric("f1"), ours, theirs),
        "missing": 0,
    }
    assert got.against["exact_p"] != got.against["f1_p"]


def test_the_data_determine_the_rules() -> None:
    answerable = [Example("a", "?", "The end", (Span(0, "The"),))]
    impossible = Example("b", "?", "The end")
    nothing = {"a": "", "b": ""}
    # The gold "The" normalises to the empty string; only 2.0 gives F1 to an empty prediction.
    assert evaluate(answerable, nothing).official["HasAns_f1"] == 0.0
    assert evaluate([*answerable, impossible], nothing).official["HasAns_f1"] == 100.0
    assert evaluate(answerable, nothing, rules="2.0").official["HasAns_f1"] == 100.0


def test_every_question_needs_a_probability(examples: list[Example]) -> None:
    na_probs = some_probabilities(examples, 3)
    del na_probs[examples[4].id]
    with pytest.raises(ReadletError, match=f"missing for 1 questions.*{examples[4].id}"):
        evaluate(examples, some_predictions(examples, 1), na_probs=na_probs)


def test_missing_predictions(examples: list[Example]) -> None:
    predictions = some_predictions(examples, 1)
    absent = [example.id for example in examples[::10]]
    some = {key: text for key, text in predictions.items() if key not in absent}
    assert evaluate(examples, some).missing == absent
    assert evaluate(examples, predictions, against=some).missing == []
    compared = evaluate(examples, predictions, against=some).against
    assert compared is not None
    assert compared["missing"] == len(absent)


@pytest.mark.parametrize("group", ["question type", "answer words", "context words"])
def test_the_parts_of_a_breakdown_add_up(examples: list[Example], group: str) -> None:
    # F1 of 0, 1 and between: a prediction with one extra word.
    predictions = {
        key: f"{text} indeed" if number % 3 == 0 and text else text
        for number, (key, text) in enumerate(some_predictions(examples, 1).items())
    }
    got = evaluate(examples, predictions)
    rows = got.breakdown[group].values()
    assert len(rows) > 1
    assert sum(row["total"] for row in rows) == got.official["total"] == len(examples)
    for name in ("exact", "f1"):
        mean = sum(row["total"] * row[name] for row in rows) / len(examples)
        assert mean == pytest.approx(got.official[name], abs=1e-9)


def test_the_breakdown_assigns_each_question_to_its_groups() -> None:
    long_context = "word " * 99 + "Ada wrote it."  # 103 words
    examples = [
        Example("a", "Who wrote it?", long_context, (Span(495, "Ada"), Span(495, "Ada wrote"))),
        Example("b", "How many are there?", "In all, 5.", (Span(0, "In all, 5"),)),
        Example("c", "Who left?", "In all, 5."),
    ]
    got = evaluate(examples, {"a": "Ada", "b": "four", "c": "in all"}).breakdown

    def row(total: int, score: float) -> dict[str, float]:
        return {"total": total, "exact": score, "f1": score}

    assert got == {
        "question type": {"who": row(2, 50.0), "how many": row(1, 0.0)},
        # The shortest gold counts: "Ada", and the four of "In", "all", ",", "5".
        "answer words": {"none": row(1, 0.0), "1": row(1, 100.0), "3-4": row(1, 0.0)},
        "context words": {"0-99": row(2, 0.0), "100-149": row(1, 100.0)},
    }


EXAMPLES = {
    # English
    "What's left of the mill?": "what",
    "In what year was the canal dug?": "what",
    "WHO dug it?": "who",
    "When did the ferry sink?": "when",
    "Where does the path end?": "where",
    "Why did the miller leave?": "why",
    "Which village lies higher?": "which",
    "How is the salt dried?": "how",
    "How many boats were built?": "how many",
    "How much grain did they store?": "how many",
    "Name the oldest bridge.": "other",
    # "was" is not a question word here
    "The bridge was opened when?": "when",
    "It was built of how many stones?": "how many",
    # Spanish
    "¿En qué año se abrió el puente?": "what",
    "¿Quién pintó la barca?": "who",
    "¿Cuándo se hundió el barco?": "when",
    "¿Dónde termina el camino?": "where",
    "¿Por qué se fue el molinero?": "why",
    "¿Cuál es el pueblo más alto?": "which",
    "¿Cómo se seca la sal?": "how",
    "¿Cuántos barcos había?": "how many",
    "Que comían los pescadores?": "what",
    "De los barcos que se hundieron, ¿cuántos eran nuevos?": "how many",
    # French
    "Que transportait le bateau ?": "what",
    "Qu’est-ce que le sel ?": "what",
    "Qu'a vendu le meunier ?": "what",
    "Qui a peint la barque ?": "who",
    "Quand le pont a-t-il ouvert ?": "when",
    "Où finit le sentier ?": "where",
    "Pourquoi le meunier est-il parti ?": "why",
    "Quel village est le plus haut ?": "which",
    "Lesquels ? Laquelle des barques a coulé ?": "which",
    "Comment sèche-t-on le sel ?": "how",
    "Combien de bateaux y avait-il ?": "how many",
    # German
    "Als was diente der Turm?": "what",
    "Wer malte das Boot?": "who",
    "Wann sank die Fähre?": "when",
    "Wo endet der Pfad?": "where",
    "Warum ging der Müller fort?": "why",
    "In welchem Jahr brannte es?": "which",
    "Wie trocknet man Salz?": "how",
    "Wie viele Boote gab es?": "how many",
    "Wieviel kostete es?": "how many",
    # No question word
    "": "other",
    "?": "other",
    "' ’ ¿?": "other",
}


@pytest.mark.parametrize(("question", "expected"), EXAMPLES.items())
def test_examples(question: str, expected: str) -> None:
    assert question_type(question) == expected


def test_accents_may_be_combining_characters() -> None:
    for question, expected in EXAMPLES.items():
        assert question_type(normalize("NFD", question)) == expected


def test_every_type_has_an_example() -> None:
    assert set(EXAMPLES.values()) == set(TYPES)
