"""A report as one self-contained HTML page; `page.html.j2` is its template."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import groupby, pairwise

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from readlet.experiments import wording as shared
from readlet.experiments.analysis import DevGroups, GroupPart
from readlet.experiments.curves import curves_caption, drawn_rows, learning_curves
from readlet.experiments.differences import Difference
from readlet.experiments.disagreements import Disagreement, Mark
from readlet.experiments.report import Report
from readlet.metrics.tasks import LABELS

_WHOSE = {"gold": "gold answer", "row": "first row", "against": "second row"}
# The largest difference, in points, on the scale of the group bars: a group of few questions may
# have a difference so large that all other bars would be invisible.
_LARGEST_BAR = 10.0
_NUMBER = re.compile(r"(\d[\d.]*e-\d+)")


def html(report: Report, command: str) -> str:
    text = (files("readlet") / "experiments" / "page.html.j2").read_text("utf-8")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"prose": prose, "name": name}
    headings, lines = shared.main_table(report)
    difference_headings, texts = shared.difference_table(report)
    differences = list(zip(report.differences, texts, _bars(report.differences), strict=True))
    return environment.from_string(text).render(
        report=report,
        command=" ".join(command.split()),
        headings=headings,
        rows=list(zip(report.rows, lines, strict=True)),
        has_deviations=any(entry.deviation for line in lines for entry in line),
        footnotes=shared.footnotes(report),
        difference_headings=difference_headings,
        differences=[
            (LABELS[metric], list(listed))
            for metric, listed in groupby(differences, key=lambda line: line[0].metric)
        ],
        opponent=shared.only_opponent(report),
        how_compared=shared.how_compared(report),
        is_significant=lambda difference: shared.significance_sign(difference) == "*",
        curves=Markup(learning_curves(report)) if drawn_rows(report) else "",
        curves_caption=curves_caption(report),
        baselines=[_baseline(report, of_file) for of_file in report.groups],
        scale=_scale(report),
        shades=lambda of_file, parts: _shades(report, of_file, parts),
        dev_name=lambda of_file: shared.dev_name(of_file, report),
        group_name=shared.group_name,
        part_name=shared.part_name,
        pairs=shared.pairs_of_rows(report),
        marked=marked,
        signed=shared.signed,
        nothing=Markup('<span class="nothing">no answer</span>'),
    )


def prose(text: str) -> Markup:
    """A sentence, in which `code` is set as code."""
    parts = shared.code_parts(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if is_code else part for part, is_code in parts
    )


def name(text: str) -> Markup:
    """A row's name, without line breaks inside numbers such as 1e-3."""
    parts = _NUMBER.split(text)
    whole = Markup('<span class="whole">{}</span>')
    return Markup("").join(
        whole.format(piece) if number % 2 else piece for number, piece in enumerate(parts)
    )


# --- marks in a passage ---------------------------------------------------------------------------


def pieces(excerpt: str, marks: Sequence[Mark]) -> Iterator[tuple[str, list[str]]]:
    """The excerpt split where marks begin and end; each piece with the owners of its marks."""
    inside = {min(max(p, 0), len(excerpt)) for mark in marks for p in (mark.start, mark.end)}
    places = sorted({0, len(excerpt)} | inside)
    for start, end in pairwise(places):
        covering = {mark.whose for mark in marks if mark.start <= start and end <= mark.end}
        yield excerpt[start:end], [whose for whose in _WHOSE if whose in covering]


def marked(found: Disagreement) -> Markup:
    """The excerpt as HTML; a piece with several marks has the styles of all of them."""
    names = _WHOSE | {"row": found.row, "against": found.against}
    text = Markup("")
    for piece, whose in pieces(found.excerpt, found.marks):
        if whose:
            title = ", ".join(names[name] for name in whose)
            mark = Markup('<mark class="{}" title="{}">{}</mark>')
            text += mark.format(" ".join(whose), title, piece)
        else:
            text += piece
    return text


# --- bars -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bar:
    """A difference and its interval, in percent of the width; zero is in the middle."""

    mean: float
    low: float | None
    high: float | None


def _bars(differences: Sequence[Difference]) -> list[Bar]:
    ends = [abs(p) for d in differences for p in (d.mean, d.low, d.high) if p is not None]
    largest = max(ends, default=0.0) or 1.0

    def place(points: float | None) -> float | None:
        # 46 instead of 50: a dot at the end is not cut off.
        return None if points is None else round(50 + 46 * points / largest, 1)

    return [Bar(place(d.mean) or 0.0, place(d.low), place(d.high)) for d in differences]


@dataclass(frozen=True)
class Shade:
    """A row's F1 on a group, and its difference from the baseline."""

    f1: float
    difference: float
    size: float  # of its bar, in percent of the longest


def _baseline(report: Report, of_file: DevGroups) -> str:
    """The first row that has scores on these questions."""
    scored = {name for parts in of_file.groups.values() for part in parts for name in part.f1}
    return next((row.name for row in report.rows if row.name in scored), "")


def _scale(report: Report) -> float:
    """The number of points that the longest bar represents."""
    found = [
        abs(f1 - part.f1[base])
        for of_file in report.groups
        for base in [_baseline(report, of_file)]
        for parts in of_file.groups.values()
        for part in parts
        if base in part.f1
        for f1 in part.f1.values()
    ]
    return min(max(found, default=0.0), _LARGEST_BAR) or 1.0


def _shades(
    report: Report, of_file: DevGroups, parts: Sequence[GroupPart]
) -> list[tuple[str, list[Shade]]]:
    base, scale = _baseline(report, of_file), _scale(report)
    named = [row.name for row in report.rows if all(row.name in part.f1 for part in parts)]
    lines = []
    for name in named:
        shades = []
        for part in parts:
            difference = part.f1[name] - part.f1.get(base, part.f1[name])
            size = round(100 * min(abs(difference) / scale, 1))
            shades.append(Shade(part.f1[name], difference, size))
        lines.append((name, shades))
    return lines
