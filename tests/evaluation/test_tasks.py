"""Metrics of tasks against the official summaries, and significance tests against plain loops."""

import itertools
import random
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readlet.data import read_examples
from readlet.evaluation.classification import (
    ACCURACY,
    F1,
    class_items,
    matthews_of,
)
from readlet.evaluation.squad import SPANS, rules_of, score_questions, summary
from readlet.evaluation.statistics import (
    bootstrap_intervals,
    difference_p,
    paired_permutations,
    percentile_interval,
    resampled_scores,
    score_interval,
    swapped_p_values,
)
from readlet.evaluation.task import Metric
from readlet.types import Example, Prediction

MATTHEWS = matthews_of(2)

# --- summaries ------------------------------------------------------------------------------------


def predictions_for(examples: Sequence[Example]) -> list[Prediction]:
    """Correct, partly correct, wrong, and no answer in turn."""
    texts = [
        ("", e.answers[0].text, f"the {e.answers[0].text} indeed", e.context[:9])[n % 4]
        if e.answers
        else ("", e.context[:9])[n % 2]
        for n, e in enumerate(examples)
    ]
    return [Prediction(text, n, n + len(text), 0.5, 0.5, not text) for n, text in enumerate(texts)]


@pytest.mark.parametrize("only_answerable", [False, True])
def test_span_metrics_equal_the_official_summary(only_answerable: bool) -> None:
    examples = [e for e in read_examples("bundled:dev") if e.answers or not only_answerable]
    predictions = predictions_for(examples)
    scored = SPANS.score(examples, predictions)
    texts = {e.id: p.text for e, p in zip(examples, predictions, strict=True)}
    official = summary(score_questions(examples, texts, rules_of(examples)))
    assert scored.summary == official  # to the last digit
    assert scored.answers == texts
    assert list(scored.ids) == [e.id for e in examples]
    assert scored.items["start"].tolist() == [p.start for p in predictions]
    for metric in SPANS.metrics:
        if metric.name in official:
            assert metric.score(scored.items) == pytest.approx(official[metric.name], abs=1e-9)
        else:
            assert only_answerable
            assert metric.name.startswith("NoAns_")
            assert metric.score(scored.items) == 0.0


# --- intervals and tests against plain loops ------------------------------------------------------


def plain_score(metric: Metric, labels: Sequence[int], guesses: Sequence[int]) -> float:
    """From the cells of the confusion matrix, not from sums of columns."""
    cells = Counter(zip(labels, guesses, strict=True))
    tp, tn, fp, fn = cells[1, 1], cells[0, 0], cells[0, 1], cells[1, 0]
    if metric is F1:
        return 100 * 2 * tp / (2 * tp + fp + fn) if tp or fp or fn else 0.0
    spread = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return 100 * (tp * tn - fp * fn) / spread**0.5 if spread else 0.0


def some_guesses(seed: int, count: int, skill: float) -> tuple[list[int], list[int]]:
    draw = random.Random(seed)
    labels = [int(draw.random() < 0.65) for _ in range(count)]
    return labels, [label if draw.random() < skill else 1 - label for label in labels]


@pytest.mark.parametrize("metric", [MATTHEWS, F1], ids=lambda metric: metric.name)
def test_an_interval_equals_a_plain_bootstrap(metric: Metric) -> None:
    labels, guesses = some_guesses(1, 37, 0.8)
    generator = np.random.default_rng(0)
    scores = []
    for _ in range(10):  # in batches, as the function draws
        for row in generator.integers(0, 37, (100, 37)):
            drawn = ([labels[n] for n in row], [guesses[n] for n in row])
            scores.append(plain_score(metric, *drawn))
    expected = np.percentile(scores, [2.5, 97.5])
    found = score_interval(metric, class_items(labels, guesses))
    assert found == pytest.approx(expected.tolist(), abs=1e-9)
    assert found[0] < plain_score(metric, labels, guesses) < found[1]


def swapped_everywhere(
    metric: Metric, labels: Sequence[int], pairs: Sequence[tuple[list[int], list[int]]]
) -> float:
    """The exact p-value over all possible swaps; a pair of systems for each seed."""

    def difference(swapped: Sequence[bool]) -> float:
        total = 0.0
        for first, second in pairs:
            cells = list(zip(first, second, swapped, strict=True))
            ours = [b if swap else a for a, b, swap in cells]
            theirs = [a if swap else b for a, b, swap in cells]
            total += plain_score(metric, labels, ours) - plain_score(metric, labels, theirs)
        return abs(total)

    observed = difference([False] * len(labels))
    ways = list(itertools.product((False, True), repeat=len(labels)))
    return sum(difference(way) >= observed - 1e-9 for way in ways) / len(ways)


@pytest.mark.parametrize("metric", [MATTHEWS, F1], ids=lambda metric: metric.name)
@pytest.mark.parametrize("seed", range(3))
def test_p_is_close_to_that_of_all_swaps(metric: Metric, seed: int) -> None:
    labels, first = some_guesses(seed, 9, 0.9)
    _, second = some_guesses(seed + 50, 9, 0.5)
    exact = swapped_everywhere(metric, labels, [(first, second)])
    found = difference_p(metric, class_items(labels, first), class_items(labels, second))
    # Four standard errors of 10,000 draws, plus the observed one, which is always counted.
    assert found == pytest.approx(exact, abs=4 * (exact * (1 - exact) / 1e4) ** 0.5 + 1e-4)


def test_several_seeds_and_pairs_are_tested_together() -> None:
    """The score of a system is the mean over its seeds, and an item is swapped for all seeds."""
    labels, _ = some_guesses(7, 8, 1.0)
    draw = random.Random(8)
    pairs = [  # two pairs of rows, two seeds each, both sides
        [tuple([draw.randint(0, 1) for _ in labels] for _ in range(2)) for _ in range(2)]
        for _ in range(2)
    ]
    first, second = (
        np.stack(
            [
                np.stack([MATTHEWS.table(class_items(labels, both[side])) for both in of_seeds], 1)
                for of_seeds in pairs
            ],
            1,
        )  # (items, pairs, seeds, columns)
        for side in (0, 1)
    )
    found = swapped_p_values(first, second, MATTHEWS.of_sums)
    for p, of_seeds in zip(found, pairs, strict=True):
        exact = swapped_everywhere(MATTHEWS, labels, of_seeds)  # type: ignore[arg-type]
        assert p == pytest.approx(exact, abs=4 * (exact * (1 - exact) / 1e4) ** 0.5 + 1e-4)
    scores = resampled_scores(first, MATTHEWS.of_sums, resamples=150)
    rows = np.random.default_rng(0).integers(0, 8, (100, 8))
    for number, of_seeds in enumerate(pairs):
        plain = [
            np.mean(
                [
                    plain_score(MATTHEWS, [labels[n] for n in row], [ours[n] for n in row])
                    for ours, _ in of_seeds
                ]
            )
            for row in rows
        ]
        assert scores[:100, number] == pytest.approx(plain, abs=1e-9)


@settings(max_examples=20)
@given(st.integers(0, 1000))
def test_both_methods_agree_for_means(seed: int) -> None:
    generator = np.random.default_rng(seed)
    first, second = generator.integers(0, 2, (2, 40, 3)).astype(np.float32)  # (items, pairs) each
    tables = [
        np.stack([side, np.ones_like(side)], axis=-1)[:, :, None]  # (items, pairs, 1, columns)
        for side in (first, second)
    ]
    scores = [resampled_scores(table, ACCURACY.of_sums, resamples=120) for table in tables]
    general = percentile_interval(scores[0] - scores[1])
    assert general == pytest.approx(
        100 * bootstrap_intervals(first - second, resamples=120), abs=1e-3
    )
    p = swapped_p_values(*tables, ACCURACY.of_sums, permutations=300)
    # A flag keeps a sign there and swaps here: the same draws up to a sign, which has no effect.
    assert p == pytest.approx(paired_permutations(first - second, permutations=300), abs=1e-12)
