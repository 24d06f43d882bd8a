"""The contents of a report on a table's runs, as data; `formatting.py` prints it.

Scores and differences are in percent and points. A row's score is the mean over its seeds.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from readlet.errors import ReadletError, bad_input
from readlet.evaluation.classification import PREDICTED_CLASSES
from readlet.experiments.differences import Difference, Runs, find_differences
from readlet.experiments.grid import Grid
from readlet.experiments.store import FinishedRun, find_finished


@dataclass
class Cell:
    """A row's score by one metric."""

    mean: float
    deviation: float | None  # standard deviation over the seeds; None for a single one
    seeds: dict[int, float]
    is_best: bool = False


@dataclass(frozen=True)
class CurvePoint:
    """The mean score of an evaluation during training, over several seeds."""

    epoch: float  # also a mean: the steps of an epoch may differ by seed
    score: float
    lowest: float
    highest: float


@dataclass(frozen=True)
class ReportRow:
    name: str
    task: str  # empty without a finished run
    planned: int  # runs
    finished: int
    cells: dict[str, Cell]  # by metric; empty without a finished run
    paper: dict[str, float]
    parameters: int | None
    seconds: float | None  # mean over the runs
    curve: list[CurvePoint]  # by the decisive metric of its task


@dataclass(frozen=True)
class Report:
    name: str
    title: str
    source: str
    note: str
    metrics: list[str]
    rows: list[ReportRow]
    differences: list[Difference]
    noun: str  # plural name of the items
    items: int | None  # number of items, if all runs were scored on the same ones
    versions: list[str]  # of the program
    machines: list[str]
    remarks: list[str]  # caveats


def report_on(grid: Grid, runs: Path) -> Report:
    """A report on the finished runs of a grid in a folder of runs."""
    found = find_finished(grid, runs)
    if not found.runs and found.damaged:
        raise ReadletError(f"{grid.table.name}: all runs are damaged: {found.damaged[0]}")
    if not found.runs:
        fault = f"holds no finished run of {grid.table.name}"
        remedy = (
            "make some with `readlet experiment run`, or report with the --set, --small, --seeds, "
            "--data and --out of the runs"
        )
        raise bad_input(runs, "", fault, remedy)
    report = build_report(grid, found.runs)
    return replace(report, remarks=[*found.damaged, *report.remarks])


def build_report(grid: Grid, done: Mapping[str, FinishedRun]) -> Report:
    """A report on some runs of a grid, at least one."""
    runs = {
        row.name: [done[r.key] for r in grid.of_row(row.name) if r.key in done] for row in grid.rows
    }
    finished = [run for listed in runs.values() for run in listed]
    metrics = [
        m for m in grid.table.metrics if any(m in run.result.scores for run in done.values())
    ]
    same_items = len({run.result.items for run in finished}) == 1
    comparisons = [(a, b) for a, b in grid.comparisons if runs[a] and runs[b]]
    return Report(
        name=grid.table.name,
        title=grid.table.title,
        source=grid.table.source,
        note=grid.table.note,
        metrics=list(metrics),
        rows=_rows(grid, runs, metrics),
        differences=find_differences(comparisons, runs, metrics),
        noun=_noun(runs),
        items=len(next(iter(finished[0].items.values()))) if same_items else None,
        versions=_versions(runs),
        machines=sorted({run.result.machine for run in finished}),
        remarks=_remarks(grid, runs, metrics, same_items=same_items),
    )


def _rows(grid: Grid, runs: Runs, metrics: Sequence[str]) -> list[ReportRow]:
    rows = []
    for row in grid.rows:
        listed = runs[row.name]
        first = listed[0] if listed else None
        cells = {m: cell for m in metrics if (cell := _cell(listed, m)) is not None}
        rows.append(
            ReportRow(
                name=row.name,
                task=first.task.name if first else "",
                planned=len(grid.of_row(row.name)),
                finished=len(listed),
                cells=cells,
                paper={str(m): v for m, v in grid.table.paper.get(row.name, {}).items()},
                parameters=first.result.parameters if first else None,
                seconds=statistics.fmean(r.result.seconds for r in listed) if listed else None,
                curve=joined_curve([r.log for r in listed], first.task.decisive) if first else [],
            )
        )
    for metric in metrics:
        found = [row.cells[metric] for row in rows if metric in row.cells]
        # Rounded as printed: of two rows with the same number, both are the best.
        best = max(round(cell.mean, 2) for cell in found)
        for cell in found:
            cell.is_best = round(cell.mean, 2) == best
    return rows


def _cell(listed: Sequence[FinishedRun], metric: str) -> Cell | None:
    seeds = {r.result.seed: r.result.scores[metric] for r in listed if metric in r.result.scores}
    if not seeds:
        return None
    deviation = statistics.stdev(seeds.values()) if len(seeds) > 1 else None
    return Cell(statistics.fmean(seeds.values()), deviation, seeds)


def _noun(runs: Runs) -> str:
    nouns = {run.task.noun for listed in runs.values() for run in listed}
    return nouns.pop() if len(nouns) == 1 else "items"


def _versions(runs: Runs) -> list[str]:
    found = [run.result.versions for listed in runs.values() for run in listed]
    return sorted({f"readlet {v['readlet']} ({v['code']}), torch {v['torch']}" for v in found})


def joined_curve(logs: Sequence[Sequence[Mapping[str, Any]]], metric: str) -> list[CurvePoint]:
    """The learning curve of several seeds; a record without a loss is an evaluation.

    Seeds are joined by the number of the evaluation, since the steps of an epoch may differ; the
    last evaluation of every seed is the end of its run.
    """
    seeds = [list({r["epoch"]: r for r in log if "loss" not in r}.values()) for log in logs]
    common = min(map(len, seeds), default=0)
    if not common:
        return []
    before = zip(*(seed[: common - 1] for seed in seeds), strict=True)
    joined = []
    for points in (*before, [seed[-1] for seed in seeds]):
        epoch = statistics.fmean(point["epoch"] for point in points)
        scores = [float(point[metric]) for point in points]
        joined.append(CurvePoint(epoch, statistics.fmean(scores), min(scores), max(scores)))
    return joined


def _remarks(grid: Grid, runs: Runs, metrics: Sequence[str], *, same_items: bool) -> list[str]:
    remarks, noun = [], _noun(runs)
    absent = sum(len(grid.of_row(name)) - len(listed) for name, listed in runs.items())
    if absent:
        remarks.append(f"{absent} of {len(grid.runs)} runs are not finished yet.")
    unknown = [metric for metric in grid.table.metrics if metric not in metrics]
    if unknown:
        remarks.append(f"No run has {', '.join(unknown)}: the data has no such {noun}.")
    if not same_items:
        remarks.append(
            f"Not all runs were scored on the same {noun}: the test over {noun} leaves out rows "
            f"with different {noun}."
        )
    if len(_versions(runs)) > 1:
        remarks.append(
            "The runs were made by different versions of the program: a difference between rows "
            "may be caused by the version."
        )
    remarks += _collapsed(runs)
    if any(len(listed) == 1 for listed in runs.values()):
        remarks.append(
            "Rows with a single seed have no standard deviation: their order may be chance."
        )
    uneven = {frozenset(r.result.seed for r in listed) for listed in runs.values() if listed}
    if len(uneven) > 1:
        remarks.append("Rows have different seeds; differences are over the common ones.")
    return remarks


def _collapsed(runs: Runs) -> list[str]:
    """Classifiers that predict one class: their scores say nothing about the row."""
    found = {
        name: [str(r.result.seed) for r in listed if r.result.scores.get(PREDICTED_CLASSES) == 1]
        for name, listed in runs.items()
    }
    named = [f"{name} (seed {', '.join(seeds)})" for name, seeds in found.items() if seeds]
    if not named:
        return []
    count, total = sum(map(len, found.values())), sum(map(len, runs.values()))
    return [
        f"{count} of {total} runs collapsed, that is, predict one class for all {_noun(runs)}: "
        f"{'; '.join(named)}."
    ]
