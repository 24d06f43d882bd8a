"""Analysis of the dev questions: scores by group, and single questions on which rows differ.

Only rows with the same dev file are compared; only the span task has groups.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from readlet.experiments.differences import Runs, item_means
from readlet.experiments.disagreements import Disagreement, disagreements
from readlet.experiments.grid import Grid
from readlet.metrics.evaluation import group_members
from readlet.metrics.span_task import SPANS
from readlet.types import Example

Questions = Mapping[str, Sequence[Example]]
"""Examples by the dev source named in a recipe; files that are not available are left out."""


@dataclass(frozen=True)
class GroupPart:
    """Questions of one kind: their number, and the F1 of every row."""

    name: str
    questions: int
    f1: dict[str, float]


@dataclass(frozen=True)
class DevGroups:
    """The questions of one dev file, in groups."""

    source: str
    questions: int
    groups: dict[str, list[GroupPart]]


@dataclass(frozen=True)
class Analysis:
    groups: list[DevGroups]
    disagreements: list[Disagreement]
    remarks: list[str]


def analyse(
    grid: Grid,
    runs: Runs,
    questions: Questions,
    comparisons: Sequence[tuple[str, str]],
    pairs_shown: int,
) -> Analysis:
    """Groups of questions and examples of differences, for each available dev file."""
    groups: list[DevGroups] = []
    shown: list[Disagreement] = []
    changed: list[str] = []  # sources whose questions have changed since the runs
    sources = _sources(grid, runs)
    names = _short_names(sources)
    for source, rows in sources.items():
        asked = {run.result.items for row in rows for run in runs[row]}
        if source not in questions or len(asked) > 1:  # the report has a remark on the latter
            continue
        examples = questions[source]
        if len(examples) != len(runs[rows[0]][0].items["f1"]):
            changed.append(source)
            continue
        parts = _groups(examples, {row: runs[row] for row in rows})
        groups.append(DevGroups(names[source], len(examples), parts))
        if pairs_shown:
            pairs = [pair for pair in comparisons if {*pair} <= {*rows}]
            shown += disagreements(examples, runs, pairs, pairs_shown)
    remarks = [
        f"`{source}` has other questions than its runs were scored on: no groups, no examples."
        for source in changed
    ]
    return Analysis(groups, shown, [*_absent(sources, questions), *remarks])


def _sources(grid: Grid, runs: Runs) -> dict[str, list[str]]:
    """Dev sources, and the rows that were scored on each; "" means held-out questions."""
    found: dict[str, list[str]] = {}
    for row in grid.rows:
        if runs[row.name] and runs[row.name][0].task is SPANS:
            source = grid.of_row(row.name)[0].recipe.data.dev
            found.setdefault(source, []).append(row.name)
    return found


def _absent(sources: Iterable[str], questions: Questions) -> list[str]:
    remarks = []
    held_out, listed = "" in sources, [source for source in sources if source]
    if held_out:
        whose = "Some rows' questions" if listed else "The questions"
        remarks.append(f"{whose} are held out of training: no groups of questions, no examples.")
    missing = [f"`{source}`" for source in listed if source not in questions]
    if missing:
        are = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'}"
        remarks.append(f"{are} not available: no groups of these questions, no examples.")
    return remarks


def _short_names(sources: Iterable[str]) -> dict[str, str]:
    """File names without folders, if they are unique."""
    listed = list(sources)
    short = [Path(source).name for source in listed]
    return dict(zip(listed, short if len({*short}) == len(short) else listed, strict=True))


def _groups(examples: Sequence[Example], runs: Runs) -> dict[str, list[GroupPart]]:
    means = {name: item_means(listed, "f1") for name, listed in runs.items()}
    members = group_members(examples)
    kinds = {
        "with answer": [n for n, e in enumerate(examples) if e.answers],
        "without answer": [n for n, e in enumerate(examples) if not e.answers],
    }
    if all(kinds.values()):
        members = {"answer": kinds} | members
    return {
        group: [
            GroupPart(
                name=part,
                questions=len(places),
                f1={name: float(scores[places].mean()) for name, scores in means.items()},
            )
            for part, places in parts.items()
        ]
        for group, parts in members.items()
    }
