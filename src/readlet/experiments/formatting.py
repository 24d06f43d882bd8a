"""A report as Markdown, HTML or JSON, with its learning curves as a plot.

The HTML page is the Markdown in a template.
"""

import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from readlet.errors import bad_input, install_extra
from readlet.experiments.differences import Difference
from readlet.experiments.report import Cell, Report, ReportRow
from readlet.experiments.spec import LABELS, task_named
from readlet.experiments.store import is_ours
from readlet.storage.files import write_text
from readlet.storage.overwrite import check_file, check_folder, make_folder

FORMATS = ("md", "html", "json")
NOTHING = "–"
_SIGNIFICANT = 0.05


def check_report(table: str, folder: Path, formats: Sequence[str], *, overwrite: bool) -> list[str]:
    """The names of the files of a report, after checking that they may be written.

    In the folder of the runs they are replaced; elsewhere only with `overwrite`.
    """
    formats = list(dict.fromkeys(name.strip() for name in formats if name.strip()))
    wrong = [name for name in formats if name not in FORMATS]
    if wrong or not formats:
        fault = "no such format" if wrong else "no format given"
        raise bad_input("--format", ", ".join(wrong), fault, f"give {', '.join(FORMATS)}")
    names = [f"{table}.{name}" for name in formats]
    if "md" in formats and find_spec("matplotlib"):
        names.append(f"{table}-curves.svg")
    check_folder(folder, None)
    for name in names if folder.exists() else ():
        check_file(folder / name, overwrite=overwrite or is_ours(folder))
    return names


def write_report(
    report: Report, folder: Path, formats: Sequence[str], *, command: str, overwrite: bool = False
) -> list[Path]:
    """Write the report in every requested format, and return the paths of its files."""
    names = check_report(report.name, folder, formats, overwrite=overwrite)
    if not find_spec("matplotlib"):
        remark = f"No learning curves: matplotlib is missing; {install_extra('plots')}."
        report = replace(report, remarks=[*report.remarks, remark])
    texts = {name: _RENDERERS[name.rpartition(".")[2]](report, command) for name in names}
    make_folder(folder)
    for name, text in texts.items():
        write_text(folder / name, text)
    return [folder / name for name in texts]


# --- tables of Markdown ---------------------------------------------------------------------------


def score_table(report: Report) -> str:
    """The main table: the scores of every row, with the figures of the paper."""
    columns = {"Row": [_md(row.name) for row in report.rows]}
    for metric in report.metrics:
        columns[LABELS[metric]] = [_score(row.cells.get(metric)) for row in report.rows]
        papers = [row.paper.get(metric) for row in report.rows]
        if any(figure is not None for figure in papers):
            figures = [NOTHING if figure is None else f"{round(figure, 2):g}" for figure in papers]
            columns[f"{LABELS[metric]}, paper"] = figures
    if any(row.finished < row.planned for row in report.rows):
        columns["Runs"] = [f"{row.finished}/{row.planned}" for row in report.rows]
    columns["Parameters"] = [size(row.parameters) for row in report.rows]
    columns["Time of a run"] = [duration(row.seconds) for row in report.rows]
    return _table(list(columns), zip(*columns.values(), strict=True), words=1)


def difference_table(report: Report) -> str:
    headings = ["Row", "Against", "Metric", "Difference", "95 % interval"]
    headings += [f"p over {report.noun}", "p over seeds"]
    lines = []
    for d in report.differences:
        interval = NOTHING
        if d.low is not None and d.high is not None:
            interval = f"{signed(d.low)} to {signed(d.high)}"
        names = [_md(d.row), _md(d.against), _md(LABELS[d.metric])]
        values = [_md(signed(d.mean) + significance_sign(d)), interval]
        lines.append([*names, *values, _md(p_value(d.p_items)), _md(p_value(d.p_seeds))])
    return _table(headings, lines, words=3)


def _table(headings: Sequence[str], lines: Iterable[Sequence[str]], *, words: int) -> str:
    """The first `words` columns are left-aligned, the others right-aligned."""
    rule = [":--" if n < words else "--:" for n in range(len(headings))]
    rows = ([_md(text) for text in headings], rule, *lines)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _score(cell: Cell | None) -> str:
    if cell is None:
        return NOTHING
    mean = f"**{cell.mean:.2f}**" if cell.is_best else f"{cell.mean:.2f}"
    return mean if cell.deviation is None else f"{mean} ± {cell.deviation:.2f}"


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
    return f"{parameters / 1e3:.0f} k" if parameters < 999_500 else f"{parameters / 1e6:,.2f} M"


def significance_sign(difference: Difference) -> str:
    """The mark of a significant difference; *: over items and seeds, †: over items only."""
    over_items, over_seeds = difference.p_items, difference.p_seeds
    if over_items is None or over_items >= _SIGNIFICANT:
        return ""
    if over_seeds is None:
        return "†"
    return "*" if over_seeds < _SIGNIFICANT else ""


# --- Markdown and HTML, by templates -------------------------------------------------------------

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|~$&])")
# Starts a heading, a list or a rule at the beginning of a line.
_MARKDOWN_FIRST = re.compile(r"^(?:([#+=-])|(\d+)(?=[.)]))")


def markdown(report: Report, command: str) -> str:
    has_curves = bool(drawn_rows(report) and find_spec("matplotlib"))
    text = _filled("report.md.j2", report=report, command=command, has_curves=has_curves)
    return re.sub(r"\n{3,}", "\n\n", text)


def html(report: Report, command: str) -> str:
    from jinja2 import Template
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    body = str(parser.render(markdown(report, command))).replace("<th", '<th scope="col"')
    body = body.replace("<table>", '<div class="scroll" tabindex="0"><table>')
    body = body.replace("</table>", "</table></div>")
    # The one picture is within the page, without the head of an XML file.
    if "<p><img" in body:
        figure = f"<figure><svg{learning_curves(report).partition('<svg')[2]}</figure>"
        body = re.sub("<p><img [^>]*></p>", lambda _: figure, body)
    template = _source("page.html.j2")
    return str(Template(template, autoescape=True).render(title=report.title, body=body)) + "\n"


def _filled(template: str, **values: Any) -> str:
    from jinja2 import Environment

    environment = Environment(trim_blocks=True, keep_trailing_newline=True)
    environment.filters |= {
        **{"md": _md, "prose": _md_prose, "one_line": _one_line},
        **{"score_table": score_table, "difference_table": difference_table},
        **{"curve_label": _curve_label, "curves_caption": curves_caption},
    }
    return environment.from_string(_source(template)).render(values)


def _source(template: str) -> str:
    return (files("readlet") / "experiments" / template).read_text("utf-8")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _md(text: str) -> str:
    """Literal text on one line: escaped for use inside a line or a table."""
    return _MARKDOWN.sub(r"\\\1", _one_line(text))


def _md_prose(text: str) -> str:
    """Text that may begin a line, with `code` as it is."""
    parts = re.split("(`[^`]+`)", _one_line(text))
    shown = "".join(p if n % 2 else _MARKDOWN.sub(r"\\\1", p) for n, p in enumerate(parts))
    return _MARKDOWN_FIRST.sub(lambda m: f"\\{m[1]}" if m[1] else f"{m[2]}\\", shown)


# --- learning curves ------------------------------------------------------------------------------


# Black for the first curve, then Okabe and Ito's colours, which most colour-blind people can
# distinguish (except their yellow, too faint on white); dashes and markers do without colour.
_COLOURS = "#222222 #0072b2 #d55e00 #009e73 #cc79a7 #56b4e9 #e69f00 #b3a100".split()
_DASHES = ("-", (0, (4, 2)), ":", "-.", "--", "-", (0, (4, 2)), ":")
_MARKERS = tuple("os^Dvo*x")
MOST_CURVES = len(_COLOURS)


def drawn_rows(report: Report) -> list[ReportRow]:
    """Rows in the figure, in table order: the first one, and the best by their last score."""
    rows = [row for row in report.rows if row.curve]
    ranked = sorted(rows[1:], key=lambda row: -row.curve[-1].score)
    chosen = {row.name for row in (*rows[:1], *ranked[: MOST_CURVES - 1])}
    return [row for row in rows if row.name in chosen]


def curves_caption(report: Report) -> str:
    rows = drawn_rows(report)
    left_out = sum(bool(row.curve) for row in report.rows) - len(rows)
    caption = f"{_curve_label(report)} during training: the mean over the seeds"
    if any(point.lowest < point.highest for row in rows for point in row.curve):
        caption += ", with a band from the lowest to the highest seed"
    if left_out:
        caption += f". The first row and the best others are shown; {left_out} left out"
    return f"{caption}."


def learning_curves(report: Report) -> str:
    """The curves as SVG: a line for each row, with a band over its seeds. The first lies on top."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    rows = drawn_rows(report)
    with mpl.rc_context({"svg.hashsalt": report.name, "svg.fonttype": "none"}):
        figure = Figure(figsize=(7, 4 + 0.25 * len(rows)), layout="constrained")
        axes = figure.subplots()
        axes.set_prop_cycle(color=_COLOURS, linestyle=_DASHES, marker=_MARKERS)
        for number, row in enumerate(rows):
            values = ((p.epoch, p.score, p.lowest, p.highest) for p in row.curve)
            epochs, scores, lowest, highest = zip(*values, strict=True)
            (line,) = axes.plot(epochs, scores, label=row.name.replace("$", r"\$"))
            line.set(markersize=4, markevery=max(len(epochs) // 12, 1))
            line.set_zorder(3 - number / MOST_CURVES)
            axes.fill_between(
                epochs, lowest, highest, color=line.get_color(), alpha=0.15, linewidth=0
            )
        axes.set(xlabel="epoch", ylabel=f"{_curve_label(report)}, %")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", alpha=0.3)
        if rows:
            figure.legend(loc="outside lower left", frameon=False)
        drawn = io.StringIO()
        # Without a date the same runs have the same file.
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()


def _curve_label(report: Report) -> str:
    """What the learning curves show: the decisive metric of each row's task."""
    tasks = (task_named(row.task) for row in report.rows if row.curve)
    return " or ".join(dict.fromkeys(task.decisive_label for task in tasks if task))


_RENDERERS: Mapping[str, Callable[[Report, str], str]] = {
    "md": markdown,
    "html": html,
    "json": lambda report, _: json.dumps(asdict(report), ensure_ascii=False, indent=1),
    "svg": lambda report, _: learning_curves(report),
}
