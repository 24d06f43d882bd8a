"""GLUE scores against scikit-learn, which the official GLUE evaluations use."""

import random
import warnings
from collections.abc import Callable, Sequence

import pytest
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from readlet.formats.glue import Task
from readlet.metrics.glue import glue_scores


def matthews(labels: Sequence[int], predicted: Sequence[int]) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns if there is only one class
        return float(matthews_corrcoef(labels, predicted))


def f1(labels: Sequence[int], predicted: Sequence[int]) -> float:
    return float(f1_score(labels, predicted, zero_division=0.0))


PEERS: dict[Task, dict[str, Callable[[Sequence[int], Sequence[int]], float]]] = {
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


@pytest.mark.parametrize("task", PEERS)
def test_equals_scikit_learn(task: Task) -> None:
    for labels, predicted in [*DEGENERATE, *(random_rows(seed) for seed in range(150))]:
        got = glue_scores(task, labels, predicted)
        assert got.keys() == {*PEERS[task], "total"}
        assert got["total"] == len(labels)
        for name, peer in PEERS[task].items():
            expected = 100 * peer(labels, predicted)
            if name == "matthews_correlation":  # a square root may be rounded differently
                expected = pytest.approx(expected, rel=1e-14, abs=1e-13)
            assert got[name] == expected, (labels, predicted)


def test_known_values() -> None:
    labels, predicted = [1, 1, 1, 0, 0], [1, 1, 0, 0, 1]
    # Two true and one false positive, one true and one false negative.
    assert glue_scores("sst2", labels, predicted) == {"accuracy": 60.0, "total": 5}
    assert glue_scores("mrpc", labels, predicted) == {
        "accuracy": 60.0,
        "f1": 100 * (4 / 6),
        "total": 5,
    }
    expected = (2 * 1 - 1 * 1) / (3 * 3 * 2 * 2) ** 0.5
    assert glue_scores("cola", labels, predicted)["matthews_correlation"] == 100 * expected


@pytest.mark.parametrize("task", PEERS)
def test_no_rows(task: Task) -> None:
    assert set(glue_scores(task, [], []).values()) == {0}


def test_rows_and_predictions_must_have_the_same_length() -> None:
    with pytest.raises(ValueError, match="zip"):
        glue_scores("sst2", [1, 0], [1])
