"""The plots of `reader_report.py`: small PNG files, also readable in greyscale."""

import io
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

# Okabe and Ito's colours, safe for colour-blind readers; markers distinguish them in greyscale.
STYLES = (("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D"), ("#000000", "v"))


class LossPoint(NamedTuple):
    """The mean training loss of the steps since the previous line."""

    epoch: float
    loss: float


class ScorePoint(NamedTuple):
    """An evaluation on dev: scores by metric, in percent."""

    epoch: float
    seconds: float | None
    scores: Mapping[str, float]


class LearningCurve(NamedTuple):
    """The learning curve of a run, from its log."""

    losses: Sequence[LossPoint]
    scores: Sequence[ScorePoint]
    examples_per_second: float | None  # the median: robust to other load on the machine

    @classmethod
    def of(cls, records: Iterable[Mapping[str, Any]]) -> "LearningCurve":
        """A record without a loss is an evaluation; the steps of a rollback were undone."""
        kept = [record for record in records if not record.get("rollback")]
        losses = [LossPoint(r["epoch"], r["loss"]) for r in kept if "loss" in r]
        scores = [ScorePoint(r["epoch"], r.get("seconds"), r) for r in kept if "loss" not in r]
        speeds = [r["examples_per_second"] for r in kept if "examples_per_second" in r]
        return cls(losses, scores, statistics.median(speeds) if speeds else None)


def learning_plot(curves: Mapping[str, LearningCurve]) -> bytes:
    """EM and F1 on dev above, the training loss below, over epochs."""
    figure, (scores, losses) = _figure(2)
    for (name, curve), (colour, marker) in zip(curves.items(), STYLES, strict=False):
        epochs = [point.epoch for point in curve.scores]
        for score, values, line in (
            ("F1", [point.scores["f1"] for point in curve.scores], "-"),
            ("EM", [point.scores["exact"] for point in curve.scores], "--"),
        ):
            label = f"{name}: {score}"
            scores.plot(
                epochs, values, line, color=colour, marker=marker, markersize=4.0, label=label
            )
        epochs, values = [p.epoch for p in curve.losses], [p.loss for p in curve.losses]
        losses.plot(epochs, values, color=colour, linewidth=0.6, alpha=0.4)
        of_epoch: dict[int, list[float]] = {}
        for point in curve.losses:
            of_epoch.setdefault(math.ceil(point.epoch), []).append(point.loss)
        # In the middle of their epochs, on the curve of the single losses.
        middles = [epoch - 0.5 for epoch in of_epoch]
        values = list(map(statistics.fmean, of_epoch.values()))
        losses.plot(middles, values, color=colour, marker=marker, markersize=4.0, label=name)
    scores.set_ylabel("dev EM and F1 (%)")
    scores.legend(loc="lower right", ncols=min(len(curves), 2))
    losses.set_ylabel("training loss (nats)")
    losses.set_ylim(bottom=0)
    losses.set_xlabel("epoch")
    losses.set_xlim(left=0)
    losses.legend(loc="upper right", title="mean of each epoch")
    return _as_png(figure)


def time_plot(curves: Mapping[str, LearningCurve]) -> bytes:
    """F1 on dev over minutes; curves without times are left out."""
    figure, (axes,) = _figure(1)
    for (name, curve), (colour, marker) in zip(curves.items(), STYLES, strict=False):
        timed = [point for point in curve.scores if point.seconds is not None]
        passed = [point.seconds / 60 for point in timed if point.seconds is not None]
        if timed:
            f1 = [point.scores["f1"] for point in timed]
            axes.plot(passed, f1, color=colour, marker=marker, markersize=4.0, label=name)
    axes.set_xlabel("time since the start of the command (minutes)")
    axes.set_xlim(left=0)
    axes.set_ylabel("dev F1 (%)")
    axes.legend(loc="lower right")
    return _as_png(figure)


def _figure(rows: int) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(6.5, 1.6 + 1.9 * rows), layout="constrained")
    heights = [3, 2][:rows]
    grid = figure.subplots(rows, 1, sharex=True, squeeze=False, height_ratios=heights)
    listed = list(grid[:, 0])
    for axes in listed:
        axes.grid(color="#dddddd", linewidth=0.6)
        axes.yaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        axes.spines[["top", "right"]].set_visible(False)
    return figure, listed


def _as_png(figure: Figure) -> bytes:
    stream = io.BytesIO()
    # Without the software version, the same numbers give the same file.
    figure.savefig(stream, format="png", dpi=150, facecolor="white", metadata={"Software": None})
    return stream.getvalue()
