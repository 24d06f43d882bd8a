"""Texts and numbers of a report that all formats share."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from readlet.experiments.analysis import DevGroups, GroupPart
from readlet.experiments.differences import Difference
from readlet.experiments.disagreements import Disagreement
from readlet.experiments.report import Cell, Report
from readlet.metrics.tasks import LABELS, task_named

NOTHING = "–"
_HOW_COMPARED = (
    "Differences are in points. The p-values are corrected for the number of comparisons per "
    "metric (Holm); the interval is over {items} (the variation with other {items} of the same "
    "kind), not over seeds. * marks a difference that is significant (p below 0.05) over {items} "
    "and over seeds; † one that is significant over {items} only, with too few seeds."
)
_SIGNIFICANT = 0.05
_GROUPS = {
    "answer": "Questions with and without an answer",
    "question type": "Kind of question",
    "answer words": "Words in the answer",
    "context words": "Words in the passage",
}


@dataclass(frozen=True)
class Entry:
    """A value of the main table."""

    text: str
    deviation: str = ""
    is_best: bool = False
    kind: str = ""  # "score", "paper" or ""


def how_compared(report: Report) -> str:
    return _HOW_COMPARED.format(items=report.noun)


def curve_label(report: Report) -> str:
    """What the learning curves show: the decisive metric of each row's task."""
    tasks = (task_named(row.task) for row in report.rows if row.curve)
    return " or ".join(dict.fromkeys(task.decisive_label for task in tasks if task))


def group_name(group: str) -> str:
    return _GROUPS.get(group, group.capitalize())


def dev_name(listed: DevGroups, report: Report) -> str:
    """The dev file of the questions, if there are several."""
    if len(report.groups) == 1:
        return ""
    return f"{listed.source}, {listed.questions:,} questions"


def part_name(part: GroupPart) -> str:
    return re.sub(r"(?<=\d)-(?=\d)", "–", part.name)


def p_value(p: float | None) -> str:
    if p is None:
        return NOTHING
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def signed(points: float) -> str:
    text = f"{points:+.2f}"
    return "0.00" if float(text) == 0 else text.replace("-", "−")


def duration(seconds: float | None) -> str:
    if seconds is None:
        return NOTHING
    number, unit = (seconds, "s") if round(seconds) < 100 else (seconds / 60, "min")
    return f"{number:,.0f} {unit}" if number >= 9.95 else f"{number:.1f} {unit}"


def size(parameters: int | None) -> str:
    if parameters is None:
        return NOTHING
    if parameters < 10_000:
        return f"{parameters:,}"
    if parameters < 999_500:
        return f"{parameters / 1e3:.0f} k"
    return f"{parameters / 1e6:,.2f} M"


def significance_sign(difference: Difference) -> Literal["*", "†", ""]:
    """The mark of a significant difference; *: over items and seeds, †: over items only."""
    over_items, over_seeds = difference.p_items, difference.p_seeds
    if over_items is None or over_items >= _SIGNIFICANT:
        return ""
    if over_seeds is None:
        return "†"
    return "*" if over_seeds < _SIGNIFICANT else ""


def code_parts(text: str) -> list[tuple[str, bool]]:
    """Prose on one line, split at `code`: its pieces, and whether each is code."""
    pieces = re.split(r"`([^`]+)`", " ".join(text.split()))
    return [(piece, bool(number % 2)) for number, piece in enumerate(pieces) if piece]


def footnotes(report: Report) -> dict[str, int]:
    """Numbered reasons why rows were not run; several rows may share a reason."""
    reasons = dict.fromkeys(row.missing for row in report.rows if row.missing)
    return {reason: number for number, reason in enumerate(reasons, start=1)}


def main_table(report: Report) -> tuple[list[str], list[list[Entry]]]:
    """Headings after the row's name, and the entries of every row."""
    headings: list[str] = []
    columns: list[list[Entry]] = []
    for metric in report.metrics:
        headings.append(LABELS[metric])
        columns.append([_score(row.cells.get(metric)) for row in report.rows])
        papers = [row.paper.get(metric) for row in report.rows]
        if any(figure is not None for figure in papers):
            headings.append(f"{LABELS[metric]}, paper")
            columns.append([Entry(text, kind="paper") for text in _figures(papers)])
    if any(row.finished < row.planned for row in report.rows):
        headings.append("Runs")
        columns.append(
            [Entry(f"{r.finished}/{r.planned}" if r.planned else NOTHING) for r in report.rows]
        )
    headings += ["Parameters", "Time of a run"]
    columns.append([Entry(size(row.parameters)) for row in report.rows])
    columns.append([Entry(duration(row.seconds)) for row in report.rows])
    return headings, [list(entries) for entries in zip(*columns, strict=True)]


def _score(cell: Cell | None) -> Entry:
    if cell is None:
        return Entry(NOTHING, kind="score")
    deviation = "" if cell.deviation is None else f"{cell.deviation:.2f}"
    return Entry(f"{cell.mean:.2f}", deviation, cell.is_best, "score")


def _figures(papers: Sequence[float | None]) -> list[str]:
    """A paper's figures with its number of decimals, at most two, the same for all."""
    known = [figure for figure in papers if figure is not None]
    places = max(len(str(round(figure, 2)).partition(".")[2]) for figure in known)
    return [NOTHING if figure is None else f"{figure:.{places}f}" for figure in papers]


def difference_table(report: Report) -> tuple[list[str], list[list[str]]]:
    """Headings, and the cells of every difference; the first two or three columns are names."""
    several = len({difference.against for difference in report.differences}) > 1
    headings = ["Row", *(["Against"] if several else []), "Metric"]
    headings += ["Difference", "95 % interval", f"p over {report.noun}", "p over seeds"]
    lines = []
    for d in report.differences:
        interval = NOTHING
        if d.low is not None and d.high is not None:
            interval = f"{signed(d.low)} to {signed(d.high)}"
        lines.append(
            [
                d.row,
                *([d.against] if several else []),
                LABELS[d.metric],
                signed(d.mean) + significance_sign(d),
                interval,
                p_value(d.p_items),
                p_value(d.p_seeds),
            ]
        )
    return headings, lines


def only_opponent(report: Report) -> str:
    """The row that all others are compared with, if there is only one; otherwise empty."""
    names = {difference.against for difference in report.differences}
    return names.pop() if len(names) == 1 else ""


def pairs_of_rows(report: Report) -> list[tuple[str, str, list[Disagreement]]]:
    grouped = groupby(report.disagreements, key=lambda found: (found.row, found.against))
    return [(row, against, list(found)) for (row, against), found in grouped]


def answer_text(answer: str) -> str:
    return " ".join(answer.split()) or "no answer"
