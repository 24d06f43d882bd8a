"""A report as Markdown, HTML, LaTeX or JSON, with its learning curves as a plot.

Its text and tables are put together once, as a list of blocks; every format prints the blocks.
"""

import io
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from readlet.data import read_questions, source_path
from readlet.errors import ReadletError, bad_input
from readlet.evaluation.tasks import LABELS, SPANS, task_named
from readlet.experiments.differences import Difference
from readlet.experiments.grid import Grid
from readlet.experiments.report import Cell, Questions, Report, ReportRow, build_report
from readlet.experiments.runner import find_finished
from readlet.experiments.store import StoredRuns, is_ours
from readlet.installing import install_extra
from readlet.storage.files import write_text
from readlet.storage.overwrite import check_file, check_folder, make_folder

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
_GROUPS = {
    "answer": "Questions with and without an answer",
    "question type": "Kind of question",
    "answer words": "Words in the answer",
    "context words": "Words in the passage",
}
_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


# --- files ----------------------------------------------------------------------------------------


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
    grid: Grid,
    runs: Path,
    folder: Path,
    formats: Sequence[str],
    *,
    command: str,
    overwrite: bool = False,
) -> list[Path]:
    """Write the report in every requested format, and return the paths of its files."""
    names = check_report(grid.table.name, folder, formats, overwrite=overwrite)
    found = find_finished(grid, runs)
    if not found.runs:
        raise _nothing_found(grid, runs, found)
    report = build_report(grid, found.runs, _questions(grid, found), damaged=found.damaged)
    if not find_spec("matplotlib"):
        remark = f"No learning curves: matplotlib is missing; {install_extra('plots')}."
        report = replace(report, remarks=[*report.remarks, remark])
    texts = {name: _RENDERERS[name.rpartition(".")[2]](report, command) for name in names}
    make_folder(folder)
    for name, text in texts.items():
        write_text(folder / name, text)
    return [folder / name for name in texts]


def _nothing_found(grid: Grid, runs: Path, found: StoredRuns) -> ReadletError:
    if found.damaged:
        more = f" (and {len(found.damaged) - 1} more)" if len(found.damaged) > 1 else ""
        fault = f"all finished runs are damaged: {found.damaged[0]}{more}"
        return ReadletError(f"{grid.table.name}: {fault}")
    fault = f"holds no finished run of {grid.table.name}"
    remedy = (
        "make some with `readlet experiment run`, or report with the --set, --small, --seeds, "
        "--data and --out of the runs"
    )
    return bad_input(runs, "", fault, remedy)


def _questions(grid: Grid, found: StoredRuns) -> Questions:
    """The available dev questions; held-out ones, which differ by seed, are not stored."""
    data = {
        run.recipe.data.dev: run.recipe.data
        for run in grid.runs
        if run.key in found.runs and found.runs[run.key].task is SPANS
    }
    return {
        source: read_questions(source, data_format=part.data_format)
        for source, part in data.items()
        if source and source_path(source).is_file()
    }


# --- blocks ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Block:
    """A part of the page: one of the classes below."""

    @property
    def kind(self) -> str:
        return type(self).__name__


@dataclass(frozen=True)
class Heading(Block):
    text: str
    level: int = 2


@dataclass(frozen=True)
class Prose(Block):
    text: str


@dataclass(frozen=True)
class Items(Block):
    texts: list[str]


@dataclass(frozen=True)
class Code(Block):
    text: str


@dataclass(frozen=True)
class Curves(Block):
    """The place of the learning curves."""

    label: str


@dataclass(frozen=True)
class Entry:
    """A value of a table."""

    text: str
    deviation: str = ""
    is_best: bool = False


@dataclass(frozen=True)
class Lines(Block):
    """A table; its first `words` columns are left-aligned, the others right-aligned."""

    headings: list[str]
    lines: list[list[Entry]]
    words: int = 1


def blocks(report: Report, command: str) -> list[Block]:
    """The whole page."""
    found: list[Block] = [Heading(report.title, 1)]
    found += [Prose(f"Source: {report.source}")] if report.source else []
    found += [Prose(report.note)] if report.note else []
    count = "" if report.items is None else f" {report.items:,} {report.noun}."
    found += [Heading("Scores"), score_lines(report), Prose(_HOW_SCORED + count)]
    found += [Prose(note) for note in _footnotes(report)]
    found += [Items(report.remarks)] if report.remarks else []
    if report.differences:
        found += [Heading("Differences"), *_opponent(report), difference_lines(report)]
        found.append(Prose(_HOW_COMPARED.format(items=report.noun)))
    if drawn_rows(report) and find_spec("matplotlib"):
        found += [Heading("Learning curves"), Curves(_curve_label(report))]
        found.append(Prose(curves_caption(report)))
    if report.groups:
        found += [Heading("Groups of questions"), *_groups(report)]
    made = [
        f"{version}: {', '.join(rows)}" if len(report.code) > 1 else version
        for version, rows in report.code.items()
    ]
    made += [f"Machine: {machine}" for machine in report.machines]
    return [*found, Heading("How this page was made"), Items(made), Code(_line(command))]


def score_lines(report: Report) -> Lines:
    """The main table: the scores of every row, with the figures of the paper."""
    signs = _signs(report)
    headings = ["Row"]
    columns = [[Entry(row.name + signs.get(row.missing, "")) for row in report.rows]]
    for metric in report.metrics:
        headings.append(LABELS[metric])
        columns.append([_score(row.cells.get(metric)) for row in report.rows])
        papers = [row.paper.get(metric) for row in report.rows]
        if any(figure is not None for figure in papers):
            headings.append(f"{LABELS[metric]}, paper")
            columns.append(list(map(Entry, _figures(papers))))
    if any(row.finished < row.planned for row in report.rows):
        headings.append("Runs")
        counts = (f"{r.finished}/{r.planned}" if r.planned else NOTHING for r in report.rows)
        columns.append(list(map(Entry, counts)))
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


def _opponent(report: Report) -> list[Prose]:
    names = {difference.against for difference in report.differences}
    return [Prose(f"Every row against {names.pop()}.")] if len(names) == 1 else []


def _groups(report: Report) -> list[Block]:
    found: list[Block] = [Prose("F1 of every row; the number of questions in brackets.")]
    several = len(report.groups) > 1
    for of_file in report.groups:
        if several:
            found.append(Heading(f"{of_file.source}, {of_file.questions:,} questions", 3))
        for group, parts in of_file.groups.items():
            names = (re.sub(r"(?<=\d)-(?=\d)", "–", part.name) for part in parts)
            counted = [f"{n} ({p.questions:,})" for n, p in zip(names, parts, strict=True)]
            rows = [row.name for row in report.rows if all(row.name in p.f1 for p in parts)]
            lines = [[Entry(r), *(Entry(f"{p.f1[r]:.1f}") for p in parts)] for r in rows]
            title = _GROUPS.get(group, group.capitalize())
            found += [Heading(title, 4 if several else 3), Lines(["Row", *counted], lines)]
    return found


def _signs(report: Report) -> dict[str, str]:
    """Numbers of the reasons why rows were not run; several rows may share a reason."""
    reasons = dict.fromkeys(row.missing for row in report.rows if row.missing)
    return {reason: str(n).translate(_SUPERSCRIPT) for n, reason in enumerate(reasons, start=1)}


def _footnotes(report: Report) -> list[str]:
    return [f"{sign} Not run: {reason}" for reason, sign in _signs(report).items()]


def _score(cell: Cell | None) -> Entry:
    if cell is None:
        return Entry(NOTHING)
    deviation = "" if cell.deviation is None else f"{cell.deviation:.2f}"
    return Entry(f"{cell.mean:.2f}", deviation, cell.is_best)


def _figures(papers: Sequence[float | None]) -> list[str]:
    """A paper's figures with its number of decimals, at most two, the same for all."""
    known = [figure for figure in papers if figure is not None]
    places = max(len(str(round(figure, 2)).partition(".")[2]) for figure in known)
    return [NOTHING if figure is None else f"{figure:.{places}f}" for figure in papers]


# --- numbers --------------------------------------------------------------------------------------


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


def significance_sign(difference: Difference) -> str:
    """The mark of a significant difference; *: over items and seeds, †: over items only."""
    over_items, over_seeds = difference.p_items, difference.p_seeds
    if over_items is None or over_items >= _SIGNIFICANT:
        return ""
    if over_seeds is None:
        return "†"
    return "*" if over_seeds < _SIGNIFICANT else ""


# --- formats --------------------------------------------------------------------------------------

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|~$&])")
# Starts a heading, a list or a rule at the beginning of a line.
_MARKDOWN_FIRST = re.compile(r"^(?:([#+=-])|(\d+)(?=[.)]))")
_TEX = {
    **{sign: f"\\{sign}" for sign in "{}$&#%_"},
    **{"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"},
    "`": r"\textasciigrave{}",
    # At the start of a table line these would be read as arguments of the \\ before them.
    **{sign: f"{{{sign}}}" for sign in "[]*"},
    **{"–": r"\textendash{}", "−": "$-$", "±": r"$\pm$", "†": r"$\dagger$", "…": r"\ldots{}"},
    **{chr(new): rf"\textsuperscript{{{chr(old)}}}" for old, new in _SUPERSCRIPT.items()},
}
# Two hyphens in a name must not become a dash.
_TEX_SIGN = re.compile("-(?=-)|" + "|".join(map(re.escape, _TEX)))


def markdown(report: Report, command: str) -> str:
    def shown(block: Block) -> str:
        match block:
            case Heading(text, level):
                return f"{'#' * level} {_md(text)}"
            case Prose(text):
                return _md_prose(text)
            case Items(texts):
                return "\n".join(f"- {_md_prose(text)}" for text in texts)
            case Code(text):
                return f"    {text}"
            case Curves(label):
                return f"![{label} of every row over the epochs]({report.name}-curves.svg)"
            case Lines(headings, lines, words):
                rule = [":--" if n < words else "--:" for n in range(len(headings))]
                entries = [[_md_entry(entry) for entry in line] for line in lines]
                rows = ([_md(text) for text in headings], rule, *entries)
                return "\n".join(f"| {' | '.join(row)} |" for row in rows)
        raise TypeError(block)

    return "\n\n".join(map(shown, blocks(report, command))) + "\n"


def html(report: Report, command: str) -> str:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    def prose(text: str) -> Markup:
        return Markup("").join(
            Markup("<code>{}</code>").format(piece) if is_code else piece
            for piece, is_code in _code_parts(text)
        )

    template = (files("readlet") / "experiments" / "page.html.j2").read_text("utf-8")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["prose"] = prose
    listed = blocks(report, command)
    has_curves = any(isinstance(block, Curves) for block in listed)
    curves = Markup(learning_curves(report).partition("<svg")[2]) if has_curves else ""
    return environment.from_string(template).render(
        title=report.title, blocks=listed, curves=Markup("<svg") + curves
    )


def tex(report: Report, command: str = "") -> str:
    """The two tables: the scores, and the differences between rows."""
    source = f" Source: {_tex_prose(report.source.rstrip('.'))}." if report.source else ""
    caption = f"{_tex_prose(report.title.rstrip('.'))}.{source} {_tex(_HOW_SCORED)}"
    notes = [_tex_prose(note) for note in (*_footnotes(report), *report.remarks)]
    parts = [
        r"% Needs \usepackage{adjustbox,booktabs}; non-Latin letters need XeLaTeX or LuaLaTeX.",
        _tex_table(caption, report.name, score_lines(report), notes),
    ]
    if report.differences:
        against = "".join(block.text for block in _opponent(report)) or "Pairs of rows."
        how = _HOW_COMPARED.format(items=report.noun)
        caption = f"{_tex_prose(report.title)}: {_tex(f'{against} {how}')}"
        label = f"{report.name}-differences"
        parts.append(_tex_table(caption, label, difference_lines(report), []))
    return "\n\n".join(parts) + "\n"


_RENDERERS: Mapping[str, Callable[[Report, str], str]] = {
    "md": markdown,
    "html": html,
    "tex": tex,
    "json": lambda report, _: json.dumps(report.as_json(), ensure_ascii=False, indent=1),
    "svg": lambda report, _: learning_curves(report),
}


def _line(text: str) -> str:
    return " ".join(text.split())


def _code_parts(text: str) -> list[tuple[str, bool]]:
    """Prose on one line, split at `code`: its pieces, and whether each is code."""
    pieces = re.split(r"`([^`]+)`", _line(text))
    return [(piece, bool(number % 2)) for number, piece in enumerate(pieces) if piece]


def _md(text: str) -> str:
    """Literal text on one line: escaped for use inside a line or a table."""
    return _MARKDOWN.sub(r"\\\1", _line(text))


def _md_prose(text: str) -> str:
    parts = ((f"`{part}`" if is_code else _md_part(part)) for part, is_code in _code_parts(text))
    return _MARKDOWN_FIRST.sub(lambda m: f"\\{m[1]}" if m[1] else f"{m[2]}\\", "".join(parts))


def _md_part(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", text)


def _md_entry(entry: Entry) -> str:
    text = f"**{_md(entry.text)}**" if entry.is_best else _md(entry.text)
    return f"{text} ± {entry.deviation}" if entry.deviation else text


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


def _tex_table(caption: str, label: str, table: Lines, notes: Iterable[str]) -> str:
    columns = "l" * table.words + "r" * (len(table.headings) - table.words)
    below = " \\\\\n  ".join(notes)
    lines = [
        r"\begin{table}",
        r"  \centering\small",
        rf"  \caption{{{caption}}}",
        rf"  \label{{tab:{label}}}",
        r"  \par\medskip",  # the standard classes leave no space below a caption
        r"  \begin{adjustbox}{max width=\linewidth, max totalheight=0.8\textheight}",
        rf"  \begin{{tabular}}{{{columns}}}",
        r"    \toprule",
        rf"    {' & '.join(map(_tex, table.headings))} \\",
        r"    \midrule",
        *(rf"    {' & '.join(map(_tex_entry, line))} \\" for line in table.lines),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"  \end{adjustbox}",
        *([r"  \par\smallskip\footnotesize", f"  {below}"] if below else []),
        r"\end{table}",
    ]
    return "\n".join(lines)


# --- learning curves ------------------------------------------------------------------------------

ROWS_DRAWN = 8
# Black for the first row, then Okabe and Ito's colours, which most colour-blind people can
# distinguish (but their yellow, too faint on white); dashes and markers do without colour.
_COLOURS = "#222222 #0072b2 #d55e00 #009e73 #cc79a7 #56b4e9 #e69f00 #b3a100".split()
_DASHES = ("-", (0, (4, 2)), ":", "-.", "--", "-", (0, (4, 2)), ":")
_MARKERS = "os^Dvo*x"


def drawn_rows(report: Report) -> list[ReportRow]:
    """Rows in the figure, in table order: the first one, and the best by their last score."""
    rows = [row for row in report.rows if row.curve]
    ranked = sorted(rows[1:], key=lambda row: -row.curve[-1].score)
    chosen = {row.name for row in (*rows[:1], *ranked[: ROWS_DRAWN - 1])}
    return [row for row in rows if row.name in chosen]


def curves_caption(report: Report) -> str:
    rows = drawn_rows(report)
    left_out = sum(bool(row.curve) for row in report.rows) - len(rows)
    asked = f"{report.asked} {report.noun}".lstrip()
    caption = f"{_curve_label(report)} on the {asked} during training: the mean over the seeds"
    if any(point.lowest < point.highest for row in rows for point in row.curve):
        caption += ", with a band from the lowest to the highest seed"
    if left_out:
        caption += f". The first row and the best others are shown; {left_out} left out"
    return f"{caption}."


def learning_curves(report: Report) -> str:
    """The curves as SVG: the decisive score over epochs, a line per row, a band over seeds."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    rows = drawn_rows(report)
    with mpl.rc_context({"svg.hashsalt": report.name, "svg.fonttype": "none"}):
        figure = Figure(figsize=(7, 4 + 0.25 * len(rows)), layout="constrained")
        axes = figure.subplots()
        for number, row in enumerate(rows):
            _draw(axes, row, number)
        axes.set(xlabel="epoch", ylabel=f"{_curve_label(report)}, %")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", alpha=0.3)
        if rows:
            figure.legend(loc="outside lower left", frameon=False)
        drawn = io.StringIO()
        # Without a date the same runs have the same file.
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()


def _draw(axes: "Axes", row: ReportRow, number: int) -> None:
    epochs = [point.epoch for point in row.curve]
    axes.plot(
        epochs,
        [point.score for point in row.curve],
        color=_COLOURS[number],
        linestyle=_DASHES[number],
        marker=_MARKERS[number],
        markersize=4,
        markevery=max(len(epochs) // 12, 1),
        # The baseline lies on top: the others are compared with it.
        zorder=3 - number / ROWS_DRAWN,
        label=row.name.replace("$", r"\$"),
    )
    ends = ([point.lowest for point in row.curve], [point.highest for point in row.curve])
    axes.fill_between(epochs, *ends, color=_COLOURS[number], alpha=0.15, linewidth=0)


def _curve_label(report: Report) -> str:
    """What the learning curves show: the decisive metric of each row's task."""
    tasks = (task_named(row.task) for row in report.rows if row.curve)
    return " or ".join(dict.fromkeys(task.decisive_label for task in tasks if task))
