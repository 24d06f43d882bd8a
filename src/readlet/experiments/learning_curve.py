"""Learning curves: read from the log of a run, joined over seeds, drawn."""

import io
import json
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
    """An evaluation on dev: scores by metric, in percent."""

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
class CurvePoint:
    """The mean score of an evaluation during training, over several seeds."""

    epoch: float  # also a mean: the steps of an epoch may differ by seed
    score: float
    lowest: float
    highest: float


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


def joined_curve(curves: Iterable[LearningCurve], metric: str) -> list[CurvePoint]:
    """Seeds are joined by the number of the evaluation, since the steps of an epoch may differ;
    the last evaluation of every seed is the end of its run."""
    seeds = [list({point.epoch: point for point in curve.scores}.values()) for curve in curves]
    common = min(map(len, seeds), default=0)
    if not common:
        return []
    before = zip(*(seed[: common - 1] for seed in seeds), strict=True)
    joined = []
    for points in (*before, [seed[-1] for seed in seeds]):
        epoch = statistics.fmean(point.epoch for point in points)
        scores = [point.scores[metric] for point in points]
        joined.append(CurvePoint(epoch, statistics.fmean(scores), min(scores), max(scores)))
    return joined


# Black for the first curve, then Okabe and Ito's colours, which most colour-blind people can
# distinguish (except their yellow, too faint on white); dashes and markers do without colour.
_COLOURS = "#222222 #0072b2 #d55e00 #009e73 #cc79a7 #56b4e9 #e69f00 #b3a100".split()
_DASHES = ("-", (0, (4, 2)), ":", "-.", "--", "-", (0, (4, 2)), ":")
_MARKERS = tuple("os^Dvo*x")
MOST_CURVES = len(_COLOURS)


def drawn_curves(curves: Mapping[str, Sequence[CurvePoint]], label: str, *, salt: str) -> str:
    """Curves as SVG: a line for each, with a band over its seeds. The first lies on top."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": salt, "svg.fonttype": "none"}):
        figure = Figure(figsize=(7, 4 + 0.25 * len(curves)), layout="constrained")
        axes = figure.subplots()
        axes.set_prop_cycle(color=_COLOURS, linestyle=_DASHES, marker=_MARKERS)
        for number, (name, points) in enumerate(curves.items()):
            values = ((p.epoch, p.score, p.lowest, p.highest) for p in points)
            epochs, scores, lowest, highest = zip(*values, strict=True)
            (line,) = axes.plot(epochs, scores, label=name.replace("$", r"\$"))
            line.set(markersize=4, markevery=max(len(epochs) // 12, 1))
            line.set_zorder(3 - number / MOST_CURVES)
            axes.fill_between(
                epochs, lowest, highest, color=line.get_color(), alpha=0.15, linewidth=0
            )
        axes.set(xlabel="epoch", ylabel=label)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", alpha=0.3)
        if curves:
            figure.legend(loc="outside lower left", frameon=False)
        drawn = io.StringIO()
        # Without a date the same runs have the same file.
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()
