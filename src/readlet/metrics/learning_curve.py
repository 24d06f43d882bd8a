"""What the log of a training run tells: its curves, and when each score was reached."""

import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from readlet.errors import bad_input
from readlet.storage.files import text_lines

_PLACE = frozenset(("step", "epoch", "seconds"))  # where a line stands; the rest is measured


@dataclass(frozen=True)
class LossPoint:
    """The mean training loss of the steps since the line before."""

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
    """A run as its log tells it."""

    losses: Sequence[LossPoint]
    scores: Sequence[ScorePoint]
    rollbacks: int
    examples_per_second: float | None  # the median: a busy machine disturbs single lines


@dataclass(frozen=True)
class Reached:
    """The first evaluation with at least this score; None when no evaluation has it."""

    score: float
    point: ScorePoint | None


def read_log(path: Path) -> list[dict[str, Any]]:
    """The lines of `log.jsonl`. A crash may cut off the last one, and only that."""
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
            raise bad_input(path, f"line {number}", "is no line of a training log", remedy)
        records.append(record)
    return records


def learning_curve(records: Iterable[Mapping[str, Any]]) -> LearningCurve:
    """Sort the lines of a log into losses and scores: a line without a loss is an evaluation."""
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
            found = {n: float(value) for n, value in record.items() if n not in _PLACE}
            scores.append(ScorePoint(epoch, time, found))
    return LearningCurve(losses, scores, rollbacks, statistics.median(speeds) if speeds else None)


def epoch_means(losses: Iterable[LossPoint]) -> list[LossPoint]:
    """The mean loss of each epoch, under the epoch's number; single lines are noisy."""
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
