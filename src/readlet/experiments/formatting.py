"""A report as Markdown, HTML, LaTeX or JSON, with its learning curves as a plot.

The HTML page is the Markdown in a template; LaTeX has the table of scores.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from readlet.errors import bad_input, install_extra
from readlet.experiments.differences import Difference
from readlet.experiments.learning_curve import MOST_CURVES, drawn_curves
from readlet.experiments.report import Cell, Report, ReportRow
from readlet.experiments.spec import LABELS, task_named
from readlet.experiments.store import is_ours
from readlet.storage.files import write_text
from readlet.storage.overwrite import check_file, check_folder, make_folder

FORMATS = ("md", "html", "tex", "json")
NOTHING = "–"
_SIGNIFICANT = 0.05
_HOW_COMPARED = (
    "Differences are in points. The p-values are corrected for the number of comparisons per "
    "metric (Holm); the interval is over {items} (the variation with other {items} of the same "
    "kind), not over seeds. * marks a difference that is significant (p below 0.05) over {items} "
    "and over seeds; † one that is significant over {items} only, with too few seeds."
)
_HOW_SCORED = "Mean ± standard deviation over the seeds, in percent; the best in bold."


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


# --- tables ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """A value of a table."""

    text: str
    deviation: str = ""
    is_best: bool = False


@dataclass(frozen=True)
class Lines:
    """A table; its first `words` columns are left-aligned, the others right-aligned."""

    headings: list[str]
    lines: list[list[Entry]]
    words: int = 1


def score_lines(report: Report) -> Lines:
    """The main table: the scores of every row, with the figures of the paper."""
    headings = ["Row"]
    columns = [[Entry(row.name) for row in report.rows]]
    for metric in report.metrics:
        headings.append(LABELS[metric])
        columns.append([_score(row.cells.get(metric)) for row in report.rows])
        papers = [row.paper.get(metric) for row in report.rows]
        if any(figure is not None for figure in papers):
            headings.append(f"{LABELS[metric]}, paper")
            columns.append(list(map(Entry, _figures(papers))))
    if any(row.finished < row.planned for row in report.rows):
        headings.append("Runs")
        columns.append([Entry(f"{row.finished}/{row.planned}") for row in report.rows])
    headings += ["Parameters", "Time of a run"]
    columns.append([Entry(size(row.parameters)) for row in report.rows])
    columns.append([Entry(duration(row.seconds)) for row in report.rows])
    return Lines(headings, [list(entries) for entries in zip(*columns, strict=True)])


def difference_lines(report: Report) -> Lines:
    several = len({difference.against for difference in report.differences}) > 1
    headings = ["Row", *(["Against"] if several else []), "Metric", "Difference", "95 % interval"]
    headings += [f"p over {report.noun}", "p over seeds"]
    lines = []
    for d in report.differences:
        interval = NOTHING
        if d.low is not None and d.high is not None:
            interval = f"{signed(d.low)} to {signed(d.high)}"
        names = [d.row, *([d.against] if several else []), LABELS[d.metric]]
        values = [signed(d.mean) + significance_sign(d), interval]
        texts = [*names, *values, p_value(d.p_items), p_value(d.p_seeds)]
        lines.append(list(map(Entry, texts)))
    return Lines(headings, lines, words=headings.index("Difference"))


def _score(cell: Cell | None) -> Entry:
    if cell is None:
        return Entry(NOTHING)
    deviation = "" if cell.deviation is None else f"{cell.deviation:.2f}"
    return Entry(f"{cell.mean:.2f}", deviation, cell.is_best)


def _figures(papers: Sequence[float | None]) -> list[str]:
    """A paper's figures with its number of decimals, at most two, the same for all."""
    known = [figure for figure in papers if figure is not None]
    decimals = max(len(str(round(figure, 2)).partition(".")[2]) for figure in known)
    return [NOTHING if figure is None else f"{figure:.{decimals}f}" for figure in papers]


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


# --- Markdown and HTML ----------------------------------------------------------------------------

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|~$&])")
# Starts a heading, a list or a rule at the beginning of a line.
_MARKDOWN_FIRST = re.compile(r"^(?:([#+=-])|(\d+)(?=[.)]))")


def markdown(report: Report, command: str) -> str:
    return "\n\n".join(_markdown_parts(report, command)) + "\n"


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
    template = (files("readlet") / "experiments" / "page.html.j2").read_text("utf-8")
    return str(Template(template, autoescape=True).render(title=report.title, body=body)) + "\n"


def _markdown_parts(report: Report, command: str) -> Iterator[str]:
    yield f"# {_md(report.title)}"
    source = f"Source: {report.source}" if report.source else ""
    yield from map(_md_prose, filter(None, [source, report.note]))
    yield from ("## Scores", _md_table(score_lines(report)))
    count = "" if report.items is None else f" {report.items:,} {report.noun}."
    yield _md_prose(_HOW_SCORED + count)
    if report.remarks:
        yield _md_items(report.remarks)
    if report.differences:
        yield "## Differences"
        if len(opponents := {difference.against for difference in report.differences}) == 1:
            yield _md_prose(f"Every row against {opponents.pop()}.")
        yield _md_table(difference_lines(report))
        yield _md_prose(_HOW_COMPARED.format(items=report.noun))
    if drawn_rows(report) and find_spec("matplotlib"):
        yield "## Learning curves"
        alternative = f"{_curve_label(report)} of every row over the epochs"
        yield f"![{alternative}]({report.name}-curves.svg)"
        yield _md_prose(curves_caption(report))
    made = [
        f"{version}: {', '.join(rows)}" if len(report.code) > 1 else version
        for version, rows in report.code.items()
    ]
    made += [f"Machine: {machine}" for machine in report.machines]
    yield from ("## How this page was made", _md_items(made), f"```sh\n{_line(command)}\n```")


def _line(text: str) -> str:
    return " ".join(text.split())


def _code_parts(text: str) -> list[tuple[str, bool]]:
    """Prose on one line, split at `code`: its pieces, and whether each is code."""
    pieces = re.split(r"`([^`]+)`", _line(text))
    return [(piece, bool(number % 2)) for number, piece in enumerate(pieces) if piece]


def _md(text: str) -> str:
    """Literal text on one line: escaped for use inside a line or a table."""
    return _escaped(_line(text))


def _escaped(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", text)


def _md_prose(text: str) -> str:
    parts = ((f"`{part}`" if is_code else _escaped(part)) for part, is_code in _code_parts(text))
    return _MARKDOWN_FIRST.sub(lambda m: f"\\{m[1]}" if m[1] else f"{m[2]}\\", "".join(parts))


def _md_items(texts: Iterable[str]) -> str:
    return "\n".join(f"- {_md_prose(text)}" for text in texts)


def _md_table(table: Lines) -> str:
    rule = [":--" if n < table.words else "--:" for n in range(len(table.headings))]
    entries = [[_md_entry(entry) for entry in line] for line in table.lines]
    rows = ([_md(text) for text in table.headings], rule, *entries)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _md_entry(entry: Entry) -> str:
    text = f"**{_md(entry.text)}**" if entry.is_best else _md(entry.text)
    return f"{text} ± {entry.deviation}" if entry.deviation else text


# --- LaTeX ----------------------------------------------------------------------------------------

_TEX = {
    **{sign: f"\\{sign}" for sign in "{}$&#%_"},
    **{"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"},
    "`": r"\textasciigrave{}",
    # At the start of a table line these would be read as arguments of the \\ before them.
    **{sign: f"{{{sign}}}" for sign in "[]*"},
    **{"–": r"\textendash{}", "−": "$-$", "±": r"$\pm$", "†": r"$\dagger$", "…": r"\ldots{}"},
}
# Two hyphens in a name must not become a dash.
_TEX_SIGN = re.compile("-(?=-)|" + "|".join(map(re.escape, _TEX)))


def tex(report: Report) -> str:
    """The table of scores, with the remarks."""
    source = f" Source: {_tex_prose(report.source.rstrip('.'))}." if report.source else ""
    caption = f"{_tex_prose(report.title.rstrip('.'))}.{source} {_tex(_HOW_SCORED)}"
    notes = " \\\\\n  ".join(map(_tex_prose, report.remarks))
    table = score_lines(report)
    lines = [
        r"% Needs \usepackage{adjustbox,booktabs}; non-Latin letters need XeLaTeX or LuaLaTeX.",
        "",
        r"\begin{table}",
        r"  \centering\small",
        rf"  \caption{{{caption}}}",
        rf"  \label{{tab:{report.name}}}",
        r"  \par\medskip",  # the standard classes leave no space below a caption
        r"  \begin{adjustbox}{max width=\linewidth, max totalheight=0.8\textheight}",
        rf"  \begin{{tabular}}{{l{'r' * (len(table.headings) - 1)}}}",
        r"    \toprule",
        rf"    {' & '.join(map(_tex, table.headings))} \\",
        r"    \midrule",
        *(rf"    {' & '.join(map(_tex_entry, line))} \\" for line in table.lines),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"  \end{adjustbox}",
        *([r"  \par\smallskip\footnotesize", f"  {notes}"] if notes else []),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _tex(text: str) -> str:
    """Escaped text that TeX prints literally; control characters, which it rejects, are removed."""
    shown = "".join(c for c in text if c.isspace() or unicodedata.category(c) != "Cc")
    one_line = re.sub(r"\s+", " ", shown)
    return _TEX_SIGN.sub(lambda found: _TEX.get(found.group(), "-{}"), one_line)


def _tex_prose(text: str) -> str:
    return "".join(
        rf"\texttt{{{_tex(part)}}}" if is_code else _tex(part)
        for part, is_code in _code_parts(text)
    )


def _tex_entry(entry: Entry) -> str:
    text = rf"\textbf{{{_tex(entry.text)}}}" if entry.is_best else _tex(entry.text)
    return rf"{text} $\pm$ {_tex(entry.deviation)}" if entry.deviation else text


# --- learning curves ------------------------------------------------------------------------------


def drawn_rows(report: Report) -> list[ReportRow]:
    """Rows in the figure, in table order: the first one, and the best by their last score."""
    rows = [row for row in report.rows if row.curve]
    ranked = sorted(rows[1:], key=lambda row: -row.curve[-1].score)
    chosen = {row.name for row in (*rows[:1], *ranked[: MOST_CURVES - 1])}
    return [row for row in rows if row.name in chosen]


def curves_caption(report: Report) -> str:
    rows = drawn_rows(report)
    left_out = sum(bool(row.curve) for row in report.rows) - len(rows)
    items = f"{report.asked} {report.noun}".lstrip()
    caption = f"{_curve_label(report)} on the {items} during training: the mean over the seeds"
    if any(point.lowest < point.highest for row in rows for point in row.curve):
        caption += ", with a band from the lowest to the highest seed"
    if left_out:
        caption += f". The first row and the best others are shown; {left_out} left out"
    return f"{caption}."


def learning_curves(report: Report) -> str:
    """The curves as SVG; the baseline is drawn in black and on top."""
    curves = {row.name: row.curve for row in drawn_rows(report)}
    return drawn_curves(curves, f"{_curve_label(report)}, %", salt=report.name)


def _curve_label(report: Report) -> str:
    """What the learning curves show: the decisive metric of each row's task."""
    tasks = (task_named(row.task) for row in report.rows if row.curve)
    return " or ".join(dict.fromkeys(task.decisive_label for task in tasks if task))


_RENDERERS: Mapping[str, Callable[[Report, str], str]] = {
    "md": markdown,
    "html": html,
    "tex": lambda report, _: tex(report),
    "json": lambda report, _: json.dumps(report.as_json(), ensure_ascii=False, indent=1),
    "svg": lambda report, _: learning_curves(report),
}
