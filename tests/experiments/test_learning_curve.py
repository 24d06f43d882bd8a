"""Logs of runs, and their learning curves."""

import json
from pathlib import Path
from typing import Any

import pytest

from readlet.errors import ReadletError
from readlet.experiments.report import joined_curve
from readlet.experiments.store import read_log

LOG: list[dict[str, Any]] = [
    {"step": 5, "epoch": 0.5, "seconds": 30.0, "loss": 9.0, "examples_per_second": 100.0},
    {"step": 10, "epoch": 1.0, "seconds": 60.0, "loss": 6.0, "examples_per_second": 900.0},
    {"step": 10, "epoch": 1.0, "seconds": 70.0, "exact": 60.0, "f1": 71.0, "total": 9},
    {"step": 15, "epoch": 1.5, "seconds": 90.0, "rollback": True, "loss": None, "mean_loss": 6.0},
    {"step": 20, "epoch": 2.0, "seconds": 120.0, "loss": 4.0, "examples_per_second": 300.0},
    {"step": 20, "epoch": 2.0, "seconds": 130.0, "exact": 68.0, "f1": 78.0, "total": 9},
    {"step": 30, "epoch": 3.0, "seconds": 190.0, "exact": 66.0, "f1": 76.0, "total": 9},
]


def test_a_last_line_truncated_by_a_crash_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in LOG) + '{"step": 31, "ep')
    assert read_log(path) == LOG


@pytest.mark.parametrize("line", ['{"step": 31, "ep', "[1]", '{"step": 3}', "3"])
def test_any_other_invalid_line_is_reported(tmp_path: Path, line: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(f"{json.dumps(LOG[0])}\n{line}\n{json.dumps(LOG[1])}\n")
    with pytest.raises(ReadletError, match=r"log\.jsonl: line 2: not a line of a training log"):
        read_log(path)


@pytest.mark.parametrize(
    ("epochs", "joined"),
    [
        # 28 and 29 steps per epoch, an evaluation every 14: one seed has one evaluation more.
        (
            [[0.5, 1.0, 1.5, 2.0], [0.4828, 0.9655, 1.4483, 1.931, 2.0]],
            [(0.4914, 10, 11), (0.98275, 20, 21), (1.47415, 30, 31), (2.0, 40, 51)],
        ),
        ([[0.5, 1.0]], [(0.5, 10, 10), (1.0, 20, 20)]),
        ([[1.0], [1.0, 2.0]], [(1.5, 10, 21)]),  # one stopped early: the last ones are joined
        ([[1.0, 1.0], [1.0]], [(1.0, 11, 20)]),  # twice at the same epoch: the later one
        ([[], [1.0]], []),
    ],
)
def test_curves_of_seeds_are_joined_by_evaluation(
    epochs: list[list[float]], joined: list[tuple[float, float, float]]
) -> None:
    losses = [{"epoch": 0.1, "loss": 5.0}, {"epoch": 0.2, "loss": None, "rollback": True}]
    logs = [
        [*losses, *({"epoch": e, "f1": 10.0 * n + seed} for n, e in enumerate(listed, 1))]
        for seed, listed in enumerate(epochs)
    ]
    curve = joined_curve(logs, "f1")
    found = [(pytest.approx(p.epoch), p.lowest, p.highest) for p in curve]
    assert found == joined
    assert all(p.score == (p.lowest + p.highest) / 2 for p in curve)
