"""How poolers differ from CLS, in the paper and here: a table and a plot of all differences.

    readlet experiment run 003-table-1 --data FOLDER --out runs/003
    python benchmarks/poolers.py --runs runs/003 --out docs/results/poolers.png

A panel for each task and metric. A dot is the mean over the seeds with its 95 % interval over
texts, a cross the paper's figure; it is filled if it is significant over texts and over seeds.
Needs matplotlib (the extra `plots`).
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from readlet.errors import ReadletError
from readlet.experiments.differences import Difference
from readlet.experiments.planning import plan
from readlet.experiments.report import Report, build_report
from readlet.experiments.runner import find_finished
from readlet.metrics.tasks import LABELS

TABLE = "003-table-1"
SIGNIFICANT = 0.05
COLOURS = ("#2e6fb5", "#7a9e3f", "#b5442e")  # of the batch sizes


class Place(NamedTuple):
    """The choices of a row of the table."""

    pooler: str
    task: str
    batch: str


class Gap(NamedTuple):
    """A pooler against CLS, by one metric, in points."""

    place: Place
    found: Difference
    paper: float | None  # the paper's difference

    @property
    def panel(self) -> tuple[str, str]:
        return self.place.task, self.found.metric

    @property
    def is_significant(self) -> bool:
        p_values = (self.found.p_items, self.found.p_seeds)
        return all(p is not None and p < SIGNIFICANT for p in p_values)


def gaps_of(runs: Path, *, small: bool) -> list[Gap]:
    """All differences between finished rows; an error if a run is missing."""
    options = "--small" if small else "--data FOLDER"
    remedy = f"make them first: readlet experiment run {TABLE} {options} --out {runs}"
    if not any(runs.glob("*/result.json")):
        raise ReadletError(f"{runs}: no finished run; {remedy}")
    grid, place = plan(TABLE, small=small, out=runs, folders=[], only_finished=True)
    finished = find_finished(grid, place).runs
    if len(finished) < len(grid.runs):
        raise ReadletError(f"{runs}: {len(finished)} of {len(grid.runs)} runs; {remedy}")
    return gaps_in(build_report(grid, finished, {}))


def gaps_in(report: Report) -> list[Gap]:
    published = {row.name: row.paper for row in report.rows}
    made = []
    for found in report.differences:
        ours, cls = (published[name].get(found.metric) for name in (found.row, found.against))
        paper = None if ours is None or cls is None else ours - cls
        made.append(Gap(Place(*found.row.split(" / ")), found, paper))
    return made


def print_table(gaps: Sequence[Gap]) -> None:
    print("| task | metric | pooler | batch | paper | here | 95 % interval | significant |")
    print("| --- | --- | --- | --- | ---: | ---: | --- | --- |")
    for gap in sorted(gaps, key=lambda gap: gap.panel):
        place, found = gap.place, gap.found
        paper = "" if gap.paper is None else f"{gap.paper:+.1f}"
        interval = "" if found.low is None else f"{found.low:+.2f} to {found.high:+.2f}"
        cells = (place.task, LABELS[found.metric], place.pooler, place.batch.removeprefix("batch "))
        significant = "yes" if gap.is_significant else "no"
        print(f"| {' | '.join(cells)} | {paper} | {found.mean:+.2f} | {interval} | {significant} |")


def print_summary(gaps: Sequence[Gap]) -> None:
    """How many differences are more than chance, and how many have the sign of the paper's."""
    both = [gap for gap in gaps if gap.paper]
    same = sum((gap.paper or 0.0) * gap.found.mean > 0 for gap in both)
    inside = sum(
        gap.found.low is not None and gap.found.low <= 0 <= (gap.found.high or 0.0) for gap in gaps
    )
    significant = sum(gap.is_significant for gap in gaps)
    print(f"\n{significant} of {len(gaps)} differences are significant; {inside} intervals have 0.")
    if both:
        print(f"{same} of {len(both)} have the sign of the paper's.")


def draw(gaps: Sequence[Gap], out: Path) -> None:
    from matplotlib.figure import Figure

    panels = list(dict.fromkeys(gap.panel for gap in gaps))
    poolers = list(dict.fromkeys(gap.place.pooler for gap in gaps))
    batches = list(dict.fromkeys(gap.place.batch for gap in gaps))
    figure = Figure(figsize=(3.4 * len(panels) + 1, 0.9 * len(poolers) + 1.2), layout="constrained")
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axis, (task, metric) in zip(axes, panels, strict=True):
        for gap in (gap for gap in gaps if gap.panel == (task, metric)):
            number = batches.index(gap.place.batch)
            height = poolers.index(gap.place.pooler) + 0.22 * (number - (len(batches) - 1) / 2)
            colour = COLOURS[number % len(COLOURS)]
            if gap.found.low is not None:
                axis.plot([gap.found.low, gap.found.high], [height, height], color=colour)
            fill = colour if gap.is_significant else "white"
            axis.plot(gap.found.mean, height, "o", color=colour, markerfacecolor=fill, markersize=5)
            if gap.paper is not None:
                axis.plot(gap.paper, height, "x", color=colour, markersize=5, alpha=0.7)
        axis.axvline(0, color="#555555", linewidth=0.8)
        axis.set_title(f"{task}: {LABELS[metric]}", fontsize=10)
        axis.set_xlabel("points above CLS")
        axis.grid(axis="x", alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_yticks(range(len(poolers)), poolers)
    axes[0].invert_yaxis()
    for number, batch in enumerate(batches):
        axes[0].plot([], [], color=COLOURS[number % len(COLOURS)], label=batch)
    axes[0].plot([], [], "x", color="#555555", label="the paper")
    figure.legend(loc="outside lower center", ncols=len(batches) + 1, frameon=False, fontsize=9)
    figure.savefig(out, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--small", action="store_true", help="runs of the small variant")
    arguments = parser.parse_args()
    if not arguments.out.parent.is_dir():
        parser.exit(1, f"poolers: {arguments.out.parent}: no such folder; make it first\n")
    try:
        gaps = gaps_of(arguments.runs, small=arguments.small)
    except ReadletError as error:
        parser.exit(1, f"poolers: {error}\n")
    print_table(gaps)
    print_summary(gaps)
    draw(gaps, arguments.out)


if __name__ == "__main__":
    main()
