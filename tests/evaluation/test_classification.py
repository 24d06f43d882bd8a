"""GLUE, any number of classes, values: against formulas by hand, scikit-learn and scipy."""

import math
import random
import warnings
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from readlet.data.tables import GlueTask
from readlet.evaluation.classification import (
    CLASSES,
    PEARSON,
    VALUES,
    class_items,
    class_task,
    value_items,
)
from readlet.evaluation.evaluation import evaluate_classes
from readlet.evaluation.statistics import difference_p, score_interval
from readlet.experiments.spec import task_named
from readlet.types import Sentence


def matthews(labels: Sequence[int], predicted: Sequence[int]) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns if there is only one class
        return float(matthews_corrcoef(labels, predicted))


def f1(labels: Sequence[int], predicted: Sequence[int]) -> float:
    return float(f1_score(labels, predicted, zero_division=0.0))


PEERS: dict[GlueTask, dict[str, Callable[[Sequence[int], Sequence[int]], float]]] = {
    "cola": {"matthews_correlation": matthews},
    "sst2": {"accuracy": accuracy_score},
    "mrpc": {"accuracy": accuracy_score, "f1": f1},
}
# Only one class, in the labels, the predictions or both; all correct; all wrong; one row.
DEGENERATE = [
    ([1, 1, 1], [1, 1, 1]),
    ([0, 0, 0], [0, 0, 0]),
    ([0, 0, 0], [1, 1, 1]),
    ([1, 1, 1], [0, 0, 0]),
    ([0, 1, 1], [1, 1, 1]),
    ([0, 1, 1], [0, 0, 0]),
    ([1, 1, 1], [0, 1, 0]),
    ([0, 1, 0, 1], [0, 1, 0, 1]),
    ([0, 1, 0, 1], [1, 0, 1, 0]),
    ([1], [1]),
    ([0], [1]),
]


def random_rows(seed: int) -> tuple[list[int], list[int]]:
    draw = random.Random(seed)
    number, share, skill = draw.randint(1, 200), draw.random(), draw.random()
    labels = [int(draw.random() < share) for _ in range(number)]
    return labels, [label if draw.random() < skill else 1 - label for label in labels]


def scores_of(task: GlueTask, labels: list[int], predicted: list[int]) -> dict[str, float]:
    sentences = [Sentence(str(n), "x", str(label)) for n, label in enumerate(labels)]
    return CLASSES[task].score(sentences, [str(guess) for guess in predicted]).summary


@pytest.mark.parametrize("task", PEERS)
def test_equals_scikit_learn(task: GlueTask) -> None:
    for labels, predicted in [*DEGENERATE, *(random_rows(seed) for seed in range(150))]:
        got = scores_of(task, labels, predicted)
        assert got.keys() == {*PEERS[task], "total"}
        assert got["total"] == len(labels)
        for name, peer in PEERS[task].items():
            expected = 100 * peer(labels, predicted)
            if name == "matthews_correlation":  # a square root may be rounded differently
                expected = pytest.approx(expected, rel=1e-14, abs=1e-13)
            assert got[name] == expected, (labels, predicted)


@pytest.mark.parametrize("task", PEERS)
def test_no_rows(task: GlueTask) -> None:
    assert set(scores_of(task, [], []).values()) == {0}


NAMES = ("a", "b", "c", "d")


def plain_macro_f1(labels: list[int], guesses: list[int]) -> float:
    found = []
    for c in {*labels, *guesses}:
        right = sum(x == y == c for x, y in zip(labels, guesses, strict=True))
        found.append(2 * right / (labels.count(c) + guesses.count(c)))
    return 100 * sum(found) / len(found) if found else 0.0


def plain_matthews(labels: list[int], guesses: list[int]) -> float:
    """The correlation of the two tables of indicators (Gorodkin 2004)."""
    gold, guess = (np.eye(4)[np.array(side, int).reshape(-1)] for side in (labels, guesses))
    if not len(labels):
        return 0.0
    gold, guess = gold - gold.mean(axis=0), guess - guess.mean(axis=0)
    spread = math.sqrt((gold**2).sum() * (guess**2).sum())
    return 100 * float((gold * guess).sum()) / spread if spread > 1e-12 else 0.0


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=25))
def test_four_classes(pairs: list[tuple[int, int]]) -> None:
    labels, guesses = [gold for gold, _ in pairs], [guess for _, guess in pairs]
    task = class_task(NAMES, ("macro_f1", "accuracy", "matthews_correlation"))
    sentences = [Sentence(str(n), "x", NAMES[label]) for n, label in enumerate(labels)]
    scored = task.score(sentences, [NAMES[guess] for guess in guesses])
    assert scored.summary["macro_f1"] == pytest.approx(plain_macro_f1(labels, guesses))
    assert scored.summary["matthews_correlation"] == pytest.approx(
        plain_matthews(labels, guesses), abs=1e-6
    )
    assert scored.summary["predicted_classes"] == len({*guesses})
    for metric in task.metrics:
        assert metric.score(scored.items) == scored.summary[metric.name]


def test_intervals_and_tests_of_several_classes() -> None:
    draw = random.Random(3)
    labels = [draw.randrange(4) for _ in range(30)]
    good = [label if draw.random() < 0.9 else draw.randrange(4) for label in labels]
    bad = [draw.randrange(4) for _ in labels]
    items = [class_items(labels, guesses, 4) for guesses in (good, bad)]
    for metric in class_task(NAMES, ("macro_f1", "matthews_correlation")).metrics:
        low, high = score_interval(metric, items[0])
        assert low < metric.score(items[0]) <= high
        assert difference_p(metric, *items) < 0.01
        assert difference_p(metric, items[0], items[0]) == 1.0
    plain = [
        plain_macro_f1([labels[n] for n in rows], [good[n] for n in rows])
        for rows in np.random.default_rng(0).integers(0, 30, (10, 100, 30)).reshape(-1, 30)
    ]
    bounds = score_interval(class_task(NAMES, ("macro_f1",)).metrics[0], items[0])
    assert bounds == pytest.approx(np.percentile(plain, [2.5, 97.5]).tolist(), abs=0.5)


@given(
    st.lists(
        st.tuples(st.integers(-9, 9), st.floats(-9, 9, allow_nan=False)), min_size=3, max_size=20
    ),
    st.sampled_from([0.0, 2000.0, 1e6]),
)
@example([(0, 4.5), (0, 4.5), (0, 4.5), (-2, 0.0), (-3, 0.0)], 0.0)  # resamples of one label only
def test_values_against_scipy(pairs: list[tuple[int, float]], offset: float) -> None:
    from scipy.stats import pearsonr, spearmanr

    labels = [gold + offset for gold, _ in pairs]
    values = [round(guess, 2) + offset for _, guess in pairs]
    sentences = [Sentence(str(n), "x", repr(label)) for n, label in enumerate(labels)]
    found = VALUES.score(sentences, [repr(value) for value in values]).summary
    if len({*labels}) > 1 and len({*values}) > 1:
        assert found["pearson"] == pytest.approx(100 * pearsonr(labels, values)[0], abs=1e-4)
        assert found["spearman"] == pytest.approx(100 * spearmanr(labels, values)[0], abs=1e-4)
    squares = [(a - b) ** 2 for a, b in zip(labels, values, strict=True)]
    assert found["mean_squared_error"] == pytest.approx(sum(squares) / len(squares))
    low, high = score_interval(PEARSON, value_items(labels, values))
    assert -100.001 <= low <= high <= 100.001


def test_tasks_are_found_by_the_name_that_runs_store() -> None:
    task = class_task(NAMES, ("macro_f1", "accuracy"))
    found = task_named(task.name)
    assert found is not None
    assert [m.columns for m in found.metrics] == [m.columns for m in task.metrics]
    assert found.decisive == "macro_f1"
    assert task_named("values") is VALUES
    assert task_named("4 classes: speed") is None
    assert task_named("nothing") is None


def test_an_evaluation_has_a_confusion_matrix_and_counts_missing_predictions() -> None:
    sentences = [Sentence(str(n), "x", NAMES[n % 4]) for n in range(8)]
    given = {str(n): NAMES[n % 2] for n in range(7)}
    task = class_task(NAMES, ("accuracy",))
    found = evaluate_classes(task, NAMES, sentences, given, confidences=None)
    assert found.missing == ["7"]
    assert found.official["accuracy"] == 50.0
    assert found.confusion is not None
    assert found.confusion["c"] == {"a": 2, "b": 0, "c": 0, "d": 0}
    assert sum(map(sum, (row.values() for row in found.confusion.values()))) == 7
