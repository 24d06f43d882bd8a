"""SQuAD scores against an independent implementation (the oracle), compared exactly."""

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pytest

import readlet.evaluation.squad as squad
from readlet.evaluation.squad import (
    Rules,
    abstain_above,
    best_thresholds,
    normalise,
    score_questions,
    summary,
)
from readlet.types import Example, Span

# --- The oracle: slow, plain, and sharing nothing with the code under test. ------------------

_PUNCTUATION = {chr(code) for code in range(33, 127) if not chr(code).isalnum()}
_ARTICLES = ("a", "an", "the")


def oracle_words(text: str) -> list[str]:
    """The normalised words, without regular expressions: by character, then by run."""
    kept = [letter for letter in text.lower() if letter not in _PUNCTUATION]
    runs = ("".join(run) for _, run in itertools.groupby(kept, key=str.isalnum))
    # An article is a whole run of letters: the dash ends it in "an–apple"; "than" contains none.
    return "".join(" " if run in _ARTICLES else run for run in runs).split()


def oracle_f1(predicted: list[str], gold: list[str], rules: Rules) -> float:
    if rules == "2.0" and (predicted == [] or gold == []):
        return 1.0 if predicted == gold else 0.0
    left = list(gold)
    shared = 0
    for word in predicted:
        if word in left:
            left.remove(word)
            shared += 1
    if not shared:
        return 0.0
    precision, recall = shared / len(predicted), shared / len(gold)
    return 2 * precision * recall / (precision + recall)


def oracle_question(
    predicted: str | None, golds: Sequence[str], rules: Rules
) -> tuple[float, float]:
    """(exact, F1) of one question: the best over its golds."""
    if predicted is None:
        return 0.0, 0.0
    wanted = [oracle_words(gold) for gold in golds]
    if rules == "2.0":
        wanted = [words for words in wanted if words]
    words = oracle_words(predicted)
    pairs = [(float(words == gold), oracle_f1(words, gold, rules)) for gold in wanted or [[]]]
    return max(exact for exact, _ in pairs), max(f1 for _, f1 in pairs)


def oracle_mean(values: Sequence[float], rules: Rules) -> float:
    if rules == "2.0":
        return 100.0 * sum(values) / len(values)
    added = 0.0
    for value in values:  # not sum(): it compensates rounding in newer Pythons
        added += value
    return 100.0 * added / len(values)


@dataclass
class Case:
    """A small data set with predictions."""

    golds: dict[str, list[str]]
    predictions: dict[str, str]
    na_probs: dict[str, float]
    threshold: float

    def examples(self) -> list[Example]:
        return [
            Example(key, "Who?", "", tuple(Span(0, text) for text in golds))
            for key, golds in self.golds.items()
        ]


def oracle_scores(case: Case, rules: Rules) -> dict[str, tuple[float, float]]:
    return {
        key: oracle_question(case.predictions.get(key), golds, rules)
        for key, golds in case.golds.items()
    }


def oracle_summary(
    scores: Mapping[str, tuple[float, float]], golds: Mapping[str, list[str]], rules: Rules
) -> dict[str, float]:
    parts = {
        "": list(scores),
        "HasAns_": [key for key in scores if golds[key]],
        "NoAns_": [key for key in scores if not golds[key]],
    }
    result: dict[str, float] = {}
    for prefix, keys in parts.items():
        if keys:
            result[prefix + "exact"] = oracle_mean([scores[key][0] for key in keys], rules)
            result[prefix + "f1"] = oracle_mean([scores[key][1] for key in keys], rules)
            result[prefix + "total"] = len(keys)
    return result


def oracle_thresholds(case: Case, scores: Mapping[str, tuple[float, float]]) -> dict[str, float]:
    """All questions refused; then answered one by one by confidence. The first maximum counts."""
    # A question without a prediction is neither refused nor answered: it is always wrong.
    order = sorted(case.na_probs, key=case.na_probs.__getitem__)
    order = [key for key in order if key in case.predictions]
    refusing = float(sum(1 for key in order if not case.golds[key]))
    result = {}
    for name, column in (("exact", 0), ("f1", 1)):
        gains = []
        for key in order:
            if case.golds[key]:
                gains.append(scores[key][column])
            else:  # a wrong answer loses the point of the refusal
                gains.append(0.0 if case.predictions.get(key) == "" else -1.0)
        heights = list(itertools.accumulate(gains, initial=refusing))
        peak = heights.index(max(heights))
        result[f"best_{name}"] = 100.0 * heights[peak] / len(case.golds)
        result[f"best_{name}_thresh"] = case.na_probs[order[peak - 1]] if peak else 0.0
    return result


# --- Random data sets: every special case of the normalisation in a small vocabulary. ---------

_VOCABULARY = (
    "the The a AN an than anthem river River, Nile nile. 1,000 1000 «Nile» – an–apple O'Neill "
    "ONeill ... ! café CAFÉ cafe\u0301 straße STRASSE İzmir 東京 東京。 co-op coop _the_ the's "
    "\u00a0 ﬁve २ \u200bthe"
).split(" ")


def random_text(draw: random.Random, longest: int = 4) -> str:
    return " ".join(draw.choices(_VOCABULARY, k=draw.randint(1, longest)))


def random_prediction(draw: random.Random, golds: Sequence[str]) -> str:
    chance = draw.random()
    if chance < 0.2:
        return ""
    if chance < 0.3 or not golds:
        return random_text(draw)
    gold = draw.choice(golds)
    if chance < 0.5:
        return gold
    if chance < 0.6:
        return draw.choice(["The {}", "{}.", " {} ", "«{}»", "{} the", "...{}"]).format(gold)
    words = gold.split(" ")
    if chance < 0.8:
        words.insert(draw.randint(0, len(words)), draw.choice(_VOCABULARY))
    else:
        words.pop(draw.randrange(len(words)))
    return " ".join(words)


def random_case(draw: random.Random, fewest_golds: int) -> Case:
    keys = [f"q{number}" for number in range(draw.randint(1, 8))]
    golds = {key: [random_text(draw) for _ in range(draw.randint(fewest_golds, 3))] for key in keys}
    # One data set in four lacks some predictions.
    missing = 0.3 if draw.random() < 0.25 else 0.0
    predictions = {
        key: random_prediction(draw, golds[key]) for key in keys if draw.random() >= missing
    }
    shuffled = draw.sample(keys, len(keys))  # ties are broken by the order of this file
    if draw.random() < 0.7:  # few values: many ties
        na_probs = {key: draw.choice([0.0, 0.25, 0.5, 1.0]) for key in shuffled}
    else:
        na_probs = {key: draw.random() for key in shuffled}
    return Case(golds, predictions, na_probs, draw.choice([0.0, 0.25, 0.6, 1.0]))


def cases(number: int, seed: int, fewest_golds: int = 0) -> Iterator[Case]:
    draw = random.Random(seed)
    return (random_case(draw, fewest_golds) for _ in range(number))


@pytest.mark.parametrize("seed", range(4))
def test_ten_thousand_random_sets_by_the_rules_of_2_0(seed: int) -> None:
    for case in cases(2500, seed):
        expected = oracle_scores(case, "2.0")
        scores = score_questions(case.examples(), case.predictions, "2.0")
        got = summary(scores) | best_thresholds(scores, case.na_probs)
        wanted = oracle_summary(expected, case.golds, "2.0")
        wanted |= oracle_thresholds(case, expected)
        assert got == wanted, case

        refused = {
            key: (float(not case.golds[key]),) * 2
            if case.na_probs[key] > case.threshold and key in case.predictions
            else pair
            for key, pair in expected.items()
        }
        assert summary(abstain_above(scores, case.na_probs, case.threshold)) == oracle_summary(
            refused, case.golds, "2.0"
        ), case


@pytest.mark.parametrize("seed", range(4))
def test_ten_thousand_random_sets_by_the_rules_of_1_1(seed: int) -> None:
    for case in cases(2500, 100 + seed, fewest_golds=1):
        got = summary(score_questions(case.examples(), case.predictions, "1.1"))
        assert got == oracle_summary(oracle_scores(case, "1.1"), case.golds, "1.1"), case


def test_the_random_sets_contain_all_cases() -> None:
    """Without ties, refusals or partial scores, the comparison would prove little."""
    drawn = list(cases(500, seed=0))
    scores = [pair for case in drawn for pair in oracle_scores(case, "2.0").values()]
    assert sum(0 < f1 < 1 for _, f1 in scores) > 200
    assert sum(exact == 1 for exact, _ in scores) > 200
    assert sum(len(case.predictions) < len(case.golds) for case in drawn) > 50
    assert sum(len(set(case.na_probs.values())) < len(case.na_probs) for case in drawn) > 200
    assert sum(not any(case.golds.values()) for case in drawn) > 5
    both = [oracle_scores(case, "1.1") != oracle_scores(case, "2.0") for case in drawn]
    assert sum(both) > 20  # the two sets of rules give different scores


def test_1_1_adds_one_by_one_instead_of_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Newer Pythons compensate rounding in sum(), which the script of 1.1 does not call."""
    monkeypatch.setattr(squad, "sum", math.fsum, raising=False)
    golds = [[" ".join("xabcdefgh"[: 1 + number % 9])] for number in range(100)]
    case = Case({f"q{n}": gold for n, gold in enumerate(golds)}, {}, {}, 1.0)
    case.predictions |= dict.fromkeys(case.golds, "x w v")
    got = summary(score_questions(case.examples(), case.predictions, "1.1"))
    assert got == oracle_summary(oracle_scores(case, "1.1"), case.golds, "1.1")
    exactly = math.fsum(f1 for _, f1 in oracle_scores(case, "1.1").values())
    assert got["f1"] != 100.0 * exactly / 100  # the two sums differ in this case


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The  Nile, a river.", "nile river"),
        ("a", ""),
        ("...", ""),
        ("the A an", ""),
        ("Anthem than theatre", "anthem than theatre"),
        ("«The Nile»", "« nile»"),  # only ASCII punctuation is removed
        ("an–apple", "–apple"),  # the dash ends the article
        ("co-op", "coop"),
        ("the-end", "theend"),  # punctuation is removed first: no article is left
        ("_the_", ""),
        ("\u00a0x\u2003y\n", "x y"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("STRASSE straße", "strasse straße"),  # lower case, not folded
    ],
)
def test_normalise(text: str, expected: str) -> None:
    assert normalise(text) == expected
    assert oracle_words(text) == expected.split()
