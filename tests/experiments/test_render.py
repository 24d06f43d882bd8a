"""The formats of a report: their contents, escaping, and a self-contained page."""

import dataclasses
import re
import shutil
import string
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from readlet.experiments.analysis import DevGroups, GroupPart
from readlet.experiments.differences import Difference
from readlet.experiments.disagreements import Mark
from readlet.experiments.render_html import html, pieces
from readlet.experiments.render_markdown import markdown
from readlet.experiments.render_tex import tex
from readlet.experiments.report import Cell, Report, ReportRow

COMMAND = "readlet experiment report bridges"
HOSTILE = "<script>x|y & z_1 {a} \\b ^~ [c] *d* `e` $f$ #g 100%"
SIGNS = st.text(alphabet=string.punctuation + "aé1 ", min_size=1).filter(str.strip)
MakeRow = Callable[..., ReportRow]
MakeReport = Callable[..., Report]


@pytest.fixture
def bare_report(make_row: MakeRow, make_report: MakeReport) -> Report:
    """One row with one seed and nothing else."""
    row = make_row("only", cells={"f1": Cell(70.0, None, {0: 70.0}, is_best=True)}, curve=[])
    return make_report(
        source="",
        note="",
        metrics=["f1"],
        rows=[dataclasses.replace(row, planned=1, finished=1)],
        differences=[],
        groups=[],
        disagreements=[],
        items=None,
        remarks=[],
    )


# --- all formats ----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["markdown", "html", "tex"])
def test_every_format_has_the_same_contents(form: str, make_report: MakeReport) -> None:
    report = make_report()
    forms = {"markdown": markdown(report, COMMAND), "html": html(report, COMMAND)}
    text = (forms | {"tex": tex(report)})[form]
    parts = [
        "The effect of a wider layer",
        "A made-up paper",
        "base",
        "wide",
        "via French",
        "73.68",
    ]
    parts += ["61.00", "0.25", "readlet augment", "One remark.", "0.030", "Holm", "not over seeds"]
    for part in parts:
        assert part in text
    bold = {"markdown": "**71.50**", "html": "<strong>71.50</strong>", "tex": r"\textbf{71.50}"}
    assert bold[form] in text
    if form != "tex":
        assert COMMAND in text
        assert "torch 2.9" in text
        assert "Who began the bridge?" in text
        assert "1,234" in text


def test_a_report_of_one_row_has_no_empty_sections(bare_report: Report) -> None:
    assert re.findall("^## (.*)", markdown(bare_report, COMMAND), re.M) == [
        *("Scores", "How this page was made")
    ]
    assert html(bare_report, COMMAND).count("<h2>") == 2
    assert tex(bare_report).count(r"\begin{table}") == 1


@pytest.mark.parametrize(("over_seeds", "sign"), [(0.03, "*"), (None, "†")])
def test_every_format_marks_significant_differences(
    over_seeds: float | None, sign: str, make_report: MakeReport
) -> None:
    difference = Difference("wide", "base", "f1", 1.5, 0.4, 2.6, 0.01, 2, over_seeds)
    report = make_report(differences=[difference])
    number = f"+1.50{sign}"
    cell = f"<strong>{number}</strong>" if sign == "*" else number
    assert f"<td>{cell}</td>" in html(report, COMMAND)
    assert number.replace("*", r"\*") in markdown(report, COMMAND)
    assert number.replace("*", "{*}").replace("†", r"$\dagger$") in tex(report)


def test_rows_of_two_dev_files_have_separate_tables(
    make_row: MakeRow, make_report: MakeReport
) -> None:
    first = {"base": 60.0, "wide": 64.0}
    second = {"Spanish": 50.0, "Spanish, wide": 45.0}
    groups = [
        DevGroups(name, 1190, {"question type": [GroupPart("who", 9, f1)]})
        for name, f1 in (("en.json", first), ("es.json", second))
    ]
    rows = [make_row(name) for name in (*first, *second)]
    report = make_report(rows=rows, groups=groups)
    text = markdown(report, COMMAND)
    assert re.findall("^###+ .*", text.partition("## Questions on which")[0], re.M) == [
        *("### en.json, 1,190 questions", "#### Kind of question"),
        *("### es.json, 1,190 questions", "#### Kind of question"),
    ]
    assert "| wide | 64.0 |" in text
    assert "| Spanish, wide | 45.0 |" in text
    page = html(report, COMMAND)
    assert re.findall("<h3>(.*json.*)</h3>", page) == [
        *("en.json, 1,190 questions", "es.json, 1,190 questions")
    ]
    # Each table has a first row to be compared with.
    bars = re.findall(r'class="(gain|loss)" style="--size: (\d+)%', page)
    assert bars == [("gain", "80"), ("loss", "100")]
    assert page.count("<i></i>") == 2
    assert "its difference from\nthe first row that has these questions" in page
    # A single file needs no title.
    assert "<h3>en.json" not in html(make_report(rows=rows, groups=groups[:1]), COMMAND)
    assert "### Kind of question" in markdown(make_report(groups=groups[:1]), COMMAND)


def test_right_to_left_texts_have_their_own_direction(make_report: MakeReport) -> None:
    """The question, the passage and the three answers, but not their labels."""
    page = html(make_report(), COMMAND)
    turned = re.findall(r'<(\w+) dir="auto">', page)
    assert turned == ["h4", "blockquote", "dd", "dd", "dd"]


# --- Markdown -------------------------------------------------------------------------------------


def cells_of(text: str) -> list[str]:
    """The visible text of the first column of the first table."""
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    opened = [n for n, token in enumerate(tokens) if token.type == "td_open"]
    seen = ["".join(c.content for c in tokens[n + 1].children or []) for n in opened]
    assert not any("html" in token.type for token in tokens)
    return seen


@given(SIGNS)
def test_markdown_shows_names_literally(
    make_row: MakeRow, make_report: MakeReport, name: str
) -> None:
    report = make_report(rows=[make_row(name)], title=name, note=name.replace("`", ""))
    text = markdown(report, COMMAND)
    assert cells_of(text)[0] == " ".join(name.split())
    assert len(re.findall("^## ", text, re.M)) == 6  # neither more nor fewer headings


def test_markdown_links_its_figure(make_report: MakeReport) -> None:
    assert "](bridges-curves.svg)" in markdown(make_report(), COMMAND)


def test_markdown_brackets_overlapping_marks(make_report: MakeReport) -> None:
    text = markdown(make_report(), COMMAND)
    assert "by ⟨the mason ⟦Hedda⟩ ⟪Quill⟧ in 1881⟫." in text


@pytest.mark.parametrize("start", ["# one", "- one", "+ one", "12. one", "3) one", "> one"])
def test_a_note_stays_a_paragraph(start: str, make_report: MakeReport) -> None:
    note = markdown(make_report(note=start), COMMAND).split("\n\n")[2]
    assert MarkdownIt().render(note) == f"<p>{start.replace('>', '&gt;')}</p>\n"


# --- TeX ------------------------------------------------------------------------------------------


@given(SIGNS)
def test_tex_prints_names_literally(make_row: MakeRow, make_report: MakeReport, name: str) -> None:
    rows = [make_row("base"), make_row(name)]
    lines = tex(make_report(rows=rows)).split("\n")
    cell = lines[lines.index(r"    \midrule") + 2].split(" & ")[0].strip()
    cell = re.sub(r"\\text[a-z]+\{\}|\\[{}$&#%_]|\{[\[\]*]\}|-\{\}", " ", cell)
    assert not set(cell) & set("\\{}$&#%_^~<>|[]*`")
    assert "--" not in cell


def test_tex_lines_have_as_many_cells_as_columns(make_report: MakeReport) -> None:
    for table in tex(make_report()).split(r"\begin{tabular}")[1:]:
        columns = re.match(r"\{([lr]+)\}", table)
        lines = [line for line in table.split(r"\end{tabular}")[0].split("\n") if "&" in line]
        assert columns
        assert {line.count(" & ") + 1 for line in lines} == {len(columns[1])}


def test_tex_headings_are_no_wider_than_their_columns(make_report: MakeReport) -> None:
    text = tex(make_report())
    assert r"\shortstack[r]{p over\\questions}" in text
    assert r"\shortstack[r]{F1,\\paper}" in text


def test_tex_continues_in_another_table_after_a_page(
    make_row: MakeRow, make_report: MakeReport
) -> None:
    rows = [make_row(f"row {number}") for number in range(95)]
    tables = tex(make_report(rows=rows, differences=[])).split(r"\begin{table}")[1:]
    assert [table.count("    row ") for table in tables] == [40, 40, 15]
    assert [r"\caption{(continued)}" in table for table in tables] == [False, True, True]
    assert ["One remark." in table for table in tables] == [False, False, True]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX here")
@pytest.mark.parametrize("columns", [2, 6])
def test_tex_stays_on_the_page(
    columns: int, make_row: MakeRow, make_report: MakeReport, tmp_path: Path
) -> None:
    if subprocess.run(["kpsewhich", "adjustbox.sty"], stdout=subprocess.DEVNULL).returncode:
        pytest.skip("LaTeX without adjustbox")
    metrics = ["exact", "f1", "HasAns_exact", "HasAns_f1", "NoAns_exact", "NoAns_f1"][:columns]
    cells = {metric: Cell(70.0, 0.5, {0: 70.0}, is_best=False) for metric in metrics}
    paper = dict.fromkeys(metrics, 71.25)
    names = [f"{number} heads, rate 1e-3 / a rather long name" for number in range(50)]
    report = make_report(
        metrics=metrics,
        rows=[make_row(name, cells=cells, paper=paper) for name in names],
        differences=[
            Difference(row, against, metric, 1.5, 0.4, 2.6, 0.01, 2, None)
            for metric in metrics
            for row, against in pairwise(names)
        ],
    )
    head = r"\documentclass{article}\usepackage{adjustbox,booktabs}\begin{document}"
    (tmp_path / "page.tex").write_text(f"{head}\n{tex(report)}\\end{{document}}\n")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        errors="replace",
    )
    assert done.returncode == 0, done.stdout
    assert "Overfull" not in done.stdout
    assert "too large" not in done.stdout


# --- HTML -----------------------------------------------------------------------------------------


class Page(HTMLParser):
    """Checks that tags are nested correctly, and stores them with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: dict[str, list[str]] = {}
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.words.setdefault(self.open[-1], []).append(data)


@pytest.mark.parametrize("which", ["whole", "bare"])
def test_the_page_is_well_formed_and_self_contained(
    which: str, bare_report: Report, make_report: MakeReport
) -> None:
    report = {"whole": make_report(), "bare": bare_report}[which]
    text = html(report, COMMAND)
    assert text.startswith("<!DOCTYPE html>")
    page = Page(text)
    names = [tag for tag, _ in page.tags]
    assert not {"script", "link", "img", "iframe"} & set(names)
    assert not any({"src", "href"} & attributes.keys() for _, attributes in page.tags)
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", text)
    assert names.count("table") == names.count("caption") > 0
    assert all(attributes.get("scope") for tag, attributes in page.tags if tag == "th")
    levels = [int(tag[1]) for tag in names if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(below <= above + 1 for above, below in pairwise(levels))


def test_the_page_escapes_everything(make_row: MakeRow, make_report: MakeReport) -> None:
    report = make_report()
    rows = [make_row(HOSTILE), *report.rows[1:]]
    found = dataclasses.replace(
        report.disagreements[0],
        row=HOSTILE,
        question=HOSTILE,
        excerpt=HOSTILE,
        marks=[Mark(0, 5, "row"), Mark(2, 9, "gold")],
        gold=[HOSTILE],
        answer=HOSTILE,
    )
    hostile = make_report(
        title=HOSTILE,
        source=HOSTILE,
        note=HOSTILE,
        remarks=[HOSTILE],
        machines=[HOSTILE],
        rows=rows,
        disagreements=[found],
        groups=[
            DevGroups(f"{n}{HOSTILE}", 3, {HOSTILE: [GroupPart(HOSTILE, 3, {HOSTILE: 50.0})]})
            for n in range(2)
        ],
        differences=[Difference(HOSTILE, "wide", "f1", 1, None, None, None, 1, None)],
    )
    page = Page(html(hostile, HOSTILE))
    assert "script" not in [tag for tag, _ in page.tags]
    assert "".join(page.words["h4"]) == HOSTILE


marks = st.builds(
    lambda start, length, whose: Mark(start, start + length, whose),
    st.integers(0, 12),
    st.integers(0, 12),
    st.sampled_from(["gold", "row", "against"]),
)


@given(st.text(max_size=15), st.lists(marks, max_size=4))
def test_pieces_have_the_marks_of_all_their_characters(excerpt: str, listed: list[Mark]) -> None:
    expected = [{m.whose for m in listed if m.start <= n < m.end} for n in range(len(excerpt))]
    found = list(pieces(excerpt, listed))
    assert "".join(piece for piece, _ in found) == excerpt
    assert [set(whose) for piece, whose in found for _ in piece] == expected


def test_overlapping_marks_are_all_shown(make_report: MakeReport) -> None:
    page = Page(html(make_report(), COMMAND))
    shown = [attributes["class"] for tag, attributes in page.tags if tag == "mark"]
    legend = ["gold", "row", "against"]
    assert shown == [*legend, "row", "gold row", "gold", "gold against", "against"]


def test_gains_and_losses_have_different_styles(make_report: MakeReport) -> None:
    page = Page(html(make_report(), COMMAND))
    styled = [(a["class"], a["style"]) for tag, a in page.tags if tag == "td" and "style" in a]
    # 25 points are clipped to the 10 of the longest bar.
    assert styled == [("gain", "--size: 40%"), ("loss", "--size: 100%")]


def test_opponents_are_below_the_names_on_narrow_screens(
    make_row: MakeRow, make_report: MakeReport
) -> None:
    pairs = [("wide", "base"), ("deep", "wide")]
    differences = [Difference(a, b, "f1", 1, 0, 2, 0.01, 2, None) for a, b in pairs]
    rows = [make_row(name) for name in ("base", "wide", "deep")]
    text = html(make_report(rows=rows, differences=differences), COMMAND)
    phone = text.split("@media (max-width: 36rem) {")[1].split("\n}")[0]
    assert "th .against { display: none;" in text.split("@media (max-width: 36rem)")[0]
    assert "th .against { display: block; }" in phone
    assert ".word { display: none; }" in phone
    assert '<th scope="row">deep <small class="against">against wide</small></th>' in text
    assert '<td class="word">wide</td>' in text
    # One opponent is named above the table.
    assert '<small class="against">' not in html(make_report(), COMMAND)


def test_no_line_breaks_inside_numbers(make_row: MakeRow, make_report: MakeReport) -> None:
    text = html(make_report(rows=[make_row("rate 1e-3 / <a-b>")]), COMMAND)
    assert 'rate <span class="whole">1e-3</span> / &lt;a-b&gt;</th>' in text
    assert ".whole { white-space: nowrap; }" in text


def test_wide_tables_are_made_small_for_printing(
    make_row: MakeRow, make_report: MakeReport
) -> None:
    metrics = ["exact", "f1", "HasAns_exact", "HasAns_f1"]
    paper = dict.fromkeys(metrics, 70.0)
    for listed, is_wide in ((metrics[:2], False), (metrics, True)):
        report = make_report(rows=[make_row("base", paper=paper)], metrics=listed)
        assert ('<table class="wide">' in html(report, COMMAND)) is is_wide


def test_printed_pages_are_filled() -> None:
    """Elements longer than a page must be allowed to break."""
    text = (files("readlet") / "experiments" / "page.html.j2").read_text()
    (kept,) = re.findall("(.*) { break-inside: avoid; }", text)
    assert [name.strip() for name in kept.split(",")] == ["p", "tr", "article", "figure"]


def test_the_template_is_part_of_the_package() -> None:
    assert (files("readlet") / "experiments" / "page.html.j2").is_file()
