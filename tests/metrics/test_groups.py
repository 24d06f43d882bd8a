"""Groups against the breakdown of the whole data set, and against a plain bootstrap."""

import pytest

from readlet.bundled import corpus
from readlet.formats import read_examples
from readlet.metrics.evaluation import evaluate
from readlet.metrics.groups import evaluate_groups, question_groups
from readlet.metrics.question_types import question_type
from readlet.metrics.significance import bootstrap_interval
from readlet.metrics.squad import Rules, score_questions
from readlet.types import Example, Span


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    return list(read_examples(corpus("dev")))


def half_right(examples: list[Example]) -> dict[str, str]:
    """Exact, nearly correct and refused in turn."""
    return {
        e.id: ["", e.answers[0].text, f"{e.answers[0].text} indeed"][number % 3]
        if e.answers
        else ""
        for number, e in enumerate(examples)
    }


def test_groups_agree_with_the_breakdown(examples: list[Example]) -> None:
    predictions = half_right(examples)
    whole = evaluate(examples, predictions)
    got = evaluate_groups(question_groups(examples), predictions, "2.0")
    assert {group: list(parts) for group, parts in got.items()} == {
        group: list(parts)
        for group, parts in whole.breakdown.items()  # in the same order
    }
    for group, parts in whole.breakdown.items():
        for name, row in parts.items():
            official = got[group][name].official
            assert official["total"] == row["total"]
            assert official["exact"] == pytest.approx(row["exact"], abs=1e-9)
            assert official["f1"] == pytest.approx(row["f1"], abs=1e-9)


def test_intervals_are_over_the_questions_of_a_group(examples: list[Example]) -> None:
    predictions = half_right(examples)
    got = evaluate_groups(question_groups(examples), predictions, "2.0")
    members = [e for e in examples if question_type(e.question) == "what"]
    assert len(members) > 5
    scores = score_questions(members, predictions, "2.0")
    assert got["question type"]["what"].intervals == {
        "exact": bootstrap_interval(scores.exact),
        "f1": bootstrap_interval(scores.f1),
    }


@pytest.mark.parametrize(("rules", "f1"), [("1.1", 0.0), ("2.0", 100.0)])
def test_a_group_is_scored_by_the_rules_of_the_whole_data_set(rules: Rules, f1: float) -> None:
    # The gold "The" normalises to the empty string; only 2.0 gives F1 to an empty prediction. The
    # group alone, where every question has an answer, would be scored by 1.1.
    answerable = [Example("a", "What?", "The end", (Span(0, "The"),))]
    got = evaluate_groups(question_groups(answerable), {"a": ""}, rules)
    assert got["question type"]["what"].official["f1"] == f1
