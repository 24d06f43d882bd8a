"""The log of a training run: its learning curves, and when each score was reached."""

import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from readlet.errors import bad_input
from readlet.storage.files import text_lines

_POSITION = frozenset(("step", "epoch", "seconds"))  # the other keys of a line are measurements


@dataclass(frozen=True)
class LossPoint:
    """The mean training loss of the steps since the previous line."""

    epoch: float
    loss: float


@dataclass(frozen=True)
class ScorePoint:
    """An evaluation on dev: scores by metric, in percent. Older logs have no seconds."""

    epoch: float
    seconds: float | None
    scores: Mapping[str, float]


@dataclass(frozen=True)
class LearningCurve:
    """The learning curve of a run, from its log."""

    losses: Sequence[LossPoint]
    scores: Sequence[ScorePoint]
    rollbacks: int
    examples_per_second: float | None  # the median: robust to other load on the machine


@dataclass(frozen=True)
class Reached:
    """The first evaluation with at least this score; None if no evaluation reaches it."""

    score: float
    point: ScorePoint | None


def read_log(path: Path) -> list[dict[str, Any]]:
    """The records of `log.jsonl`. The last line may be truncated by a crash and is then skipped."""
    lines = list(text_lines(path))
    records = []
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
        except ValueError:
            if number == len(lines) and not line.endswith("\n"):
                break
            record = None
        if not isinstance(record, dict) or "epoch" not in record:
            remedy = "give the log.jsonl of a training run"
            raise bad_input(path, f"line {number}", "not a line of a training log", remedy)
        records.append(record)
    return records


def learning_curve(records: Iterable[Mapping[str, Any]]) -> LearningCurve:
    """Split the records of a log into losses and scores: one without a loss is an evaluation."""
    losses, scores, speeds, rollbacks = [], [], [], 0
    for record in records:
        epoch = float(record["epoch"])
        if record.get("rollback"):  # the steps of this loss were undone
            rollbacks += 1
        elif "loss" in record:
            losses.append(LossPoint(epoch, float(record["loss"])))
            speeds += [float(record["examples_per_second"])] * ("examples_per_second" in record)
        else:
            seconds = record.get("seconds")
            time = None if seconds is None else float(seconds)
            found = {n: float(value) for n, value in record.items() if n not in _POSITION}
            scores.append(ScorePoint(epoch, time, found))
    return LearningCurve(losses, scores, rollbacks, statistics.median(speeds) if speeds else None)


def epoch_means(losses: Iterable[LossPoint]) -> list[LossPoint]:
    """The mean loss of each epoch; single lines are noisy."""
    members: dict[int, list[float]] = {}
    for point in losses:
        members.setdefault(math.ceil(point.epoch), []).append(point.loss)
    return [LossPoint(epoch, statistics.fmean(found)) for epoch, found in members.items()]


def time_to_each(
    points: Sequence[ScorePoint], metric: str, levels: Iterable[float]
) -> list[Reached]:
    """When each score was first measured. Nothing is interpolated between two evaluations."""
    return [
        Reached(level, next((point for point in points if point.scores[metric] >= level), None))
        for level in levels
    ]
