"""Learning speed of the small reader with NormSoftmax, and its sensitivity to hyperparameters.

    readlet experiment run normsoftmax-robustness --data FOLDER --out runs/normsoftmax-robustness
    python benchmarks/robustness.py --runs runs/normsoftmax-robustness \\
        --out docs/results/normsoftmax-robustness.png

Prints two tables: F1 on dev during training, and its spread over the settings. Plots the final F1
over the number of heads and the learning rate. Needs matplotlib (`pip install readlet[plots]`).
"""

import argparse
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from readlet.errors import ReadletError
from readlet.experiments.grid import plan
from readlet.experiments.store import find_finished
from readlet.models.qacnn.recipe import QacnnRecipe

TABLE = "normsoftmax-robustness"
SOFTMAXES = ("standard", "norm")
COLOURS = {"standard": "#555555", "norm": "#b5442e"}


class Curve(NamedTuple):
    """One run: its settings, and F1 after each epoch."""

    softmax: str
    heads: int
    rate: float
    f1: dict[int, float]

    @property
    def last(self) -> float:
        return self.f1[max(self.f1)]


def curves_of(runs: Path, *, small: bool) -> list[Curve]:
    options = "--small" if small else "--data FOLDER"
    remedy = f"make them first: readlet experiment run {TABLE} {options} --out {runs}"
    if not any(runs.glob("*/result.json")):
        raise ReadletError(f"{runs}: no finished run; {remedy}")
    grid, place = plan(TABLE, small=small, out=runs, folders=[])
    finished = find_finished(grid, place).runs
    if len(finished) < len(grid.runs):
        raise ReadletError(f"{runs}: {len(finished)} of {len(grid.runs)} runs; {remedy}")
    made = []
    for run in grid.runs:
        evaluations = (line for line in finished[run.key].log if "loss" not in line)
        by_epoch = {round(line["epoch"]): line["f1"] for line in evaluations}
        made.append(_curve(run.recipe, by_epoch))
    return made


def _curve(recipe: QacnnRecipe, f1: dict[int, float]) -> Curve:
    softmax, rate = recipe.attention.softmax, recipe.training.learning_rate
    return Curve(softmax, recipe.model.heads, rate, f1)


def settings_of(curves: Sequence[Curve]) -> list[tuple[int, float]]:
    return sorted({(curve.heads, curve.rate) for curve in curves})


def spread_text(values: Sequence[float]) -> str:
    deviation = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.2f}{deviation}"


def print_early(curves: Sequence[Curve]) -> None:
    epochs = [epoch for epoch in (1, 2, 4) if all(epoch in curve.f1 for curve in curves)]
    after = " | ".join(f"after {epoch}" for epoch in epochs)
    print(f"| heads | rate | softmax | {after} |")
    print("| ---: | ---: | --- |" + " ---: |" * len(epochs))
    for heads, rate in settings_of(curves):
        for softmax in SOFTMAXES:
            seeds = [c for c in curves if (c.softmax, c.heads, c.rate) == (softmax, heads, rate)]
            cells = (spread_text([curve.f1[epoch] for curve in seeds]) for epoch in epochs)
            print(f"| {heads} | {rate:g} | {softmax} | {' | '.join(cells)} |")


def print_spread(curves: Sequence[Curve]) -> None:
    """The spread over settings; each setting is the mean over its seeds."""
    print("\n| over | softmax | mean | standard deviation | lowest | highest |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    rates, heads = _common_rate(curves), _common_heads(curves)
    for over, chosen in (
        (f"heads, rate {rates:g}", [c for c in curves if c.rate == rates]),
        (f"rates, {heads} heads", [c for c in curves if c.heads == heads]),
        ("all settings", list(curves)),
    ):
        for softmax in SOFTMAXES:
            means = [
                statistics.mean(
                    c.last for c in chosen if (c.softmax, c.heads, c.rate) == (softmax, *setting)
                )
                for setting in settings_of(chosen)
            ]
            figures = (statistics.mean(means), statistics.stdev(means), min(means), max(means))
            print(f"| {over} | {softmax} | " + " | ".join(f"{x:.2f}" for x in figures) + " |")


def _common_rate(curves: Sequence[Curve]) -> float:
    return statistics.mode(rate for _, rate in settings_of(curves))


def _common_heads(curves: Sequence[Curve]) -> int:
    return statistics.mode(heads for heads, _ in settings_of(curves))


def draw(curves: Sequence[Curve], out: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rate, heads = _common_rate(curves), _common_heads(curves)
    figure, (left, right) = plt.subplots(1, 2, sharey=True, figsize=(9, 3.8))
    panels = (
        (left, [c for c in curves if c.rate == rate], "heads", f"heads (rate {rate:g})"),
        (right, [c for c in curves if c.heads == heads], "rate", f"rate ({heads} heads)"),
    )
    for axis, chosen, field, label in panels:
        for softmax in SOFTMAXES:
            own = [c for c in chosen if c.softmax == softmax]
            places = sorted({getattr(curve, field) for curve in own})
            means = [
                statistics.mean(c.last for c in own if getattr(c, field) == place)
                for place in places
            ]
            axis.plot(places, means, color=COLOURS[softmax], marker="o", label=softmax)
            seeds = [(getattr(curve, field), curve.last) for curve in own]
            axis.scatter(*zip(*seeds, strict=True), color=COLOURS[softmax], s=12, alpha=0.5)
        axis.set_xscale("log")
        axis.set_xticks(places, [f"{place:g}" for place in places])
        axis.minorticks_off()
        axis.set_xlabel(label)
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    left.set_ylabel("F1 after the last epoch")
    left.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(out, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--small", action="store_true", help="runs of the small variant")
    arguments = parser.parse_args()
    if not arguments.out.parent.is_dir():
        parser.exit(1, f"robustness: {arguments.out.parent}: no such folder; make it first\n")
    try:
        curves = curves_of(arguments.runs, small=arguments.small)
    except ReadletError as error:
        parser.exit(1, f"robustness: {error}\n")
    print_early(curves)
    print_spread(curves)
    draw(curves, arguments.out)


if __name__ == "__main__":
    main()
