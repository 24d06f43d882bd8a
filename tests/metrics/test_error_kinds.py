"""Kinds of error: one passage, many wrong answers."""

import random

import pytest

from readlet.metrics.error_kinds import (
    ERROR_KINDS,
    ErrorKind,
    WrongAnswer,
    count_kinds,
    error_kind,
    sample_by_kind,
    wrong_answers,
)
from readlet.types import Example, Prediction, Span

CONTEXT = (
    "In 1881 the keeper Ada Brook lit the lamp at Cape Wick, and 40 boats came home. "
    "The Harbour Board paid her 12 crowns. Brook kept the light until 1904."
)


def example(*golds: str, language: str = "en", identity: str = "q") -> Example:
    spans = tuple(Span(CONTEXT.index(gold), gold) for gold in golds)
    return Example(identity, "Who or what?", CONTEXT, spans, language=language)


def predicted(text: str, start: int | None = None) -> Prediction:
    start = CONTEXT.index(text) if start is None else start
    return Prediction(text, start, start + len(text), score=0.5, no_answer=0.1, refused=False)


REFUSAL = Prediction("", 0, 0, score=0.1, no_answer=0.9, refused=True)


@pytest.mark.parametrize(
    ("golds", "prediction", "kind"),
    [
        (["Ada Brook"], predicted("Ada Brook"), None),
        (["the lamp"], predicted("lamp"), None),  # articles do not count
        (["Ada Brook"], predicted("keeper Ada Brook"), "borders"),
        (["Ada Brook lit"], predicted("Brook lit the lamp"), "borders"),
        # Elsewhere in the text, but the same thing.
        (["Ada Brook"], predicted("Brook", CONTEXT.rindex("Brook")), "borders"),
        (["Ada Brook"], predicted("Harbour Board"), "same form"),
        (["Ada Brook"], predicted("The Harbour Board"), "same form"),
        (["1881"], predicted("1904"), "same form"),
        (["12 crowns"], predicted("40"), "same form"),
        (["Ada Brook"], predicted("1904"), "elsewhere"),
        (["the lamp"], predicted("the light"), "elsewhere"),
        (["Ada Brook"], predicted("Harbour Board paid"), "elsewhere"),
        # Touching is not overlapping: spans are half-open.
        (["Ada "], predicted("Brook lit"), "elsewhere"),
        # One gold of several decides.
        (["40 boats", "Ada Brook"], predicted("keeper Ada"), "borders"),
        (["the lamp", "1881"], predicted("1904"), "same form"),
        (["Ada Brook"], REFUSAL, "refused"),
        ([], predicted("Ada Brook"), "answered"),
        ([], REFUSAL, None),
    ],
)
def test_kinds(golds: list[str], prediction: Prediction, kind: ErrorKind | None) -> None:
    assert error_kind(example(*golds), prediction, "2.0") == kind


def test_capitalised_nouns_are_not_names_in_german() -> None:
    gold, other = "Ada Brook", predicted("Harbour Board")
    assert error_kind(example(gold, language="de"), other, "1.1") == "elsewhere"
    assert error_kind(example(gold, language=""), other, "1.1") == "same form"
    assert error_kind(example("1881", language="de"), predicted("1904"), "1.1") == "same form"


def test_an_answer_that_normalises_to_the_empty_string_is_part_of_no_other() -> None:
    the = predicted("The", CONTEXT.index("The "))
    assert error_kind(example("Ada Brook"), the, "1.1") == "elsewhere"


def test_correct_answers_are_left_out_and_kinds_are_counted() -> None:
    examples = [example("Ada Brook", identity=name) for name in "abcd"] + [example(identity="e")]
    predictions = {
        "a": predicted("Ada Brook"),
        "b": predicted("Brook"),
        "c": predicted("1904"),
        "d": predicted("keeper"),
        "e": predicted("keeper"),
    }
    wrong = wrong_answers(examples, predictions, "2.0")
    kinds = [(error.example.id, error.kind) for error in wrong]
    assert kinds == [("b", "borders"), ("c", "elsewhere"), ("d", "elsewhere"), ("e", "answered")]
    counts = {"borders": 1, "same form": 0, "elsewhere": 2, "refused": 0, "answered": 1}
    assert count_kinds(wrong) == counts


def test_a_sample_does_not_depend_on_the_order() -> None:
    def errors(kind: ErrorKind, number: int) -> list[WrongAnswer]:
        listed = [example("Ada Brook", identity=f"{kind}-{i:03}") for i in range(number)]
        return [WrongAnswer(e, predicted("keeper"), kind) for e in listed]

    wrong = errors("borders", 50) + errors("elsewhere", 2)
    drawn = sample_by_kind(wrong, 3)
    assert [error.kind for error in drawn] == ["borders"] * 3 + ["elsewhere"] * 2
    assert len({error.example.id for error in drawn}) == 5
    shuffled = random.Random(1).sample(wrong, len(wrong))
    assert sample_by_kind(shuffled, 3) == drawn
    assert sample_by_kind([*wrong, *errors("refused", 9)], 3)[:5] == drawn
    assert sample_by_kind(wrong, 3, seed=1) != drawn


def test_every_kind_has_a_description() -> None:
    assert set(ERROR_KINDS) == set(ErrorKind.__args__)  # type: ignore[attr-defined]
