"""How poolers differ from CLS, in the paper and here: a table and a plot of all differences.

    readlet experiment run poolers-glue --data FOLDER --out runs/poolers
    python benchmarks/poolers.py --runs runs/poolers --out docs/results/poolers.png

The table has the mean difference over all batch sizes and seeds, with its 95 % interval, and a
t-test over the pairs of runs with the same batch size and seed, corrected for the number of
comparisons (Holm). In the plot, a panel for each task and metric: a dot is a batch size, with its
interval over texts; a cross is the paper's figure; a bar is the mean of the table, dark if it is
significant. Needs matplotlib (the extra `plots`).
"""

import argparse
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from readlet.errors import ReadletError
from readlet.evaluation.statistics import holm, paired_t
from readlet.experiments.differences import Difference
from readlet.experiments.grid import Grid, plan
from readlet.experiments.report import build_report
from readlet.experiments.spec import LABELS
from readlet.experiments.store import FinishedRun, find_finished

TABLE = "poolers-glue"
CLS = "CLS"
SIGNIFICANT = 0.05
COLOURS = ("#2e6fb5", "#7a9e3f", "#b5442e")  # of the batch sizes
PANELS_IN_A_ROW = 3


class Place(NamedTuple):
    """The choices of a row of the table."""

    pooler: str
    task: str
    batch: str


class Gap(NamedTuple):
    """A pooler against CLS at one batch size, by one metric, in points."""

    place: Place
    found: Difference
    paper: float | None  # the paper's difference

    @property
    def panel(self) -> tuple[str, str]:
        return self.place.task, self.found.metric


@dataclass(frozen=True)
class Overall:
    """A pooler against CLS over all batch sizes and seeds, by one metric, in points."""

    pooler: str
    panel: tuple[str, str]  # task and metric
    pairs: int
    mean: float
    low: float
    high: float
    p: float  # corrected for all comparisons

    @property
    def is_significant(self) -> bool:
        return self.p < SIGNIFICANT


class Comparison(NamedTuple):
    gaps: list[Gap]
    overall: list[Overall]


def comparison_of(runs: Path, *, small: bool) -> Comparison:
    """All differences between finished rows; an error if a run is missing."""
    options = "--small" if small else "--data FOLDER"
    remedy = f"make them first: readlet experiment run {TABLE} {options} --out {runs}"
    if not any(runs.glob("*/result.json")):
        raise ReadletError(f"{runs}: no finished run; {remedy}")
    grid, place = plan(TABLE, small=small, out=runs, folders=[])
    finished = find_finished(grid, place).runs
    if len(finished) < len(grid.runs):
        raise ReadletError(f"{runs}: {len(finished)} of {len(grid.runs)} runs; {remedy}")
    report = build_report(grid, finished)
    published = {row.name: row.paper for row in report.rows}
    return Comparison(gaps_in(published, report.differences), overall_in(grid, finished))


def gaps_in(
    published: Mapping[str, Mapping[str, float]], differences: Sequence[Difference]
) -> list[Gap]:
    made = []
    for found in differences:
        place = Place(*found.row.split(" / "))
        ours, cls = (published[name].get(found.metric) for name in (found.row, found.against))
        if _is_pooler(place.pooler):
            made.append(Gap(place, found, None if ours is None or cls is None else ours - cls))
    return made


def overall_in(grid: Grid, finished: Mapping[str, FinishedRun]) -> list[Overall]:
    """Runs of a pooler and of CLS with the same task, batch size and seed are a pair."""
    scores = {(run.row, run.seed): finished[run.key].result.scores for run in grid.runs}
    pairs: dict[tuple[str, tuple[str, str]], list[tuple[float, float]]] = defaultdict(list)
    for (row, seed), own in scores.items():
        place = Place(*row.split(" / "))
        cls = scores[" / ".join(place._replace(pooler=CLS)), seed]
        for metric in set(grid.table.metrics) & set(own):
            if _is_pooler(place.pooler):
                pairs[place.pooler, (place.task, metric)].append((own[metric], cls[metric]))
    return tested({key: pairs[key] for key in sorted(pairs, key=lambda key: key[1])})


def tested(
    pairs: Mapping[tuple[str, tuple[str, str]], Sequence[tuple[float, float]]],
) -> list[Overall]:
    from scipy.special import stdtrit

    made = []
    for (pooler, panel), listed in pairs.items():
        own, cls = zip(*listed, strict=True)
        differences = np.subtract(own, cls)
        count, mean = len(differences), float(differences.mean())
        error = float(differences.std(ddof=1)) / count**0.5 if count > 1 else 0.0
        reach = error * float(stdtrit(count - 1, 0.975)) if count > 1 else 0.0
        p = paired_t(own, cls)
        bounds = (mean - reach, mean + reach)
        made.append(Overall(pooler, panel, count, mean, *bounds, 1.0 if p is None else p))
    corrected = holm([one.p for one in made])
    return [replace(one, p=p) for one, p in zip(made, corrected, strict=True)]


def _is_pooler(choice: str) -> bool:
    """Not CLS itself, nor CLS with another loss."""
    return choice.split(",")[0] != CLS


def print_table(compared: Comparison) -> None:
    print("| task | metric | pooler | paper | here | 95 % interval | p |")
    print("| --- | --- | --- | ---: | ---: | --- | ---: |")
    for one in compared.overall:
        listed = [gap for gap in compared.gaps if (gap.place.pooler, gap.panel) == _key(one)]
        known = [gap.paper for gap in listed if gap.paper is not None]
        paper = f"{statistics.mean(known):+.2f}" if known else ""
        task, metric = one.panel
        found = f"{one.mean:+.2f} | {one.low:+.2f} to {one.high:+.2f} | {one.p:.3f}"
        print(f"| {task} | {LABELS[metric]} | {one.pooler} | {paper} | {found} |")


def print_summary(compared: Comparison) -> None:
    """How many differences are more than chance, and how many have the sign of the paper's."""
    significant = sum(one.is_significant for one in compared.overall)
    print(f"\n{significant} of {len(compared.overall)} differences are significant.")
    both = [gap for gap in compared.gaps if gap.paper]
    same = sum((gap.paper or 0.0) * gap.found.mean > 0 for gap in both)
    if both:
        print(f"Of {len(both)} single rows, {same} have the sign of the paper's difference.")


def draw(compared: Comparison, out: Path) -> None:
    from matplotlib.figure import Figure

    gaps = compared.gaps
    panels = list(dict.fromkeys(one.panel for one in compared.overall))
    poolers = list(dict.fromkeys(gap.place.pooler for gap in gaps))
    batches = list(dict.fromkeys(gap.place.batch for gap in gaps))
    columns = min(PANELS_IN_A_ROW, len(panels))
    rows = -(-len(panels) // columns)
    size = (3.4 * columns + 1, (0.62 * len(poolers) + 0.9) * rows + 0.4)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, sharey=True, squeeze=False).flat
    for axis, panel in zip(axes, panels, strict=False):
        for one in (one for one in compared.overall if one.panel == panel):
            height, dark = poolers.index(one.pooler), one.is_significant
            shade = "#444444" if dark else "#dddddd"
            axis.barh(height, one.high - one.low, 0.8, one.low, color=shade, alpha=0.45, zorder=0)
            axis.plot([one.mean] * 2, [height - 0.4, height + 0.4], color="#444444", linewidth=1)
        for gap in (gap for gap in gaps if gap.panel == panel):
            number = batches.index(gap.place.batch)
            height = poolers.index(gap.place.pooler) + 0.22 * (number - (len(batches) - 1) / 2)
            colour = COLOURS[number % len(COLOURS)]
            if gap.found.low is not None:
                axis.plot([gap.found.low, gap.found.high], [height, height], color=colour)
            axis.plot(gap.found.mean, height, "o", color=colour, markersize=4)
            if gap.paper is not None:
                axis.plot(gap.paper, height, "x", color=colour, markersize=5)
        axis.axvline(0, color="#555555", linewidth=0.8)
        axis.set_title(f"{panel[0]}: {LABELS[panel[1]]}", fontsize=10)
        axis.set_xlabel("points above CLS", fontsize=9)
        axis.grid(axis="x", alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
        axis.set_yticks(range(len(poolers)), poolers)
        axis.set_ylim(len(poolers) - 0.4, -0.6)
    for axis in list(axes)[len(panels) :]:
        axis.set_visible(False)
    for number, batch in enumerate(batches):
        figure.axes[0].plot([], [], "o-", color=COLOURS[number % len(COLOURS)], label=batch)
    figure.axes[0].plot([], [], "x", color="#555555", label="the paper")
    figure.axes[0].barh(0, 0, color="#444444", alpha=0.45, label="all runs, significant")
    figure.axes[0].barh(0, 0, color="#dddddd", alpha=0.45, label="all runs, not significant")
    figure.legend(loc="outside lower center", ncols=6, frameon=False, fontsize=9)
    figure.savefig(out, dpi=110)


def _key(one: Overall) -> tuple[str, tuple[str, str]]:
    return one.pooler, one.panel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--small", action="store_true", help="runs of the small variant")
    arguments = parser.parse_args()
    if not arguments.out.parent.is_dir():
        parser.exit(1, f"poolers: {arguments.out.parent}: no such folder; make it first\n")
    try:
        compared = comparison_of(arguments.runs, small=arguments.small)
    except ReadletError as error:
        parser.exit(1, f"poolers: {error}\n")
    print_table(compared)
    print_summary(compared)
    draw(compared, arguments.out)


if __name__ == "__main__":
    main()
