"""The formats of a report: their numbers, escaping, and a self-contained page."""

import dataclasses
import re
import string
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from readlet.experiments.differences import Difference
from readlet.experiments.formatting import (
    drawn_rows,
    duration,
    html,
    learning_curves,
    markdown,
    p_value,
    signed,
    significance_sign,
    size,
    tex,
)
from readlet.experiments.report import Cell, Report, ReportRow

COMMAND = "readlet experiment report bridges"
HOSTILE = "<script>x|y & z_1 {a} \\b ^~ [c] *d* `e` $f$ #g 100%"
SIGNS = st.text(alphabet=string.punctuation + "aé1 ", min_size=1).filter(str.strip)
MakeRow = Callable[..., ReportRow]
MakeReport = Callable[..., Report]
FORMATS = {"markdown": markdown, "html": html, "tex": lambda report, _: tex(report)}


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
        items=None,
        remarks=[],
    )


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_has_the_same_contents(form: str, make_report: MakeReport) -> None:
    text = FORMATS[form](make_report(), COMMAND)
    parts = ["The effect of a wider layer", "A made-up paper", "base", "wide", "via French"]
    parts += ["73.68", "61.00", "0.25", "readlet augment", "0/2"]
    bold = {"markdown": "**71.50**", "html": "<strong>71.50</strong>", "tex": r"\textbf{71.50}"}
    parts.append(bold[form])
    if form != "tex":
        parts += [COMMAND, "torch 2.9", "0.030", "Holm"]
        parts.append({"markdown": r"+1.50\*", "html": "+1.50*"}[form])
    for part in parts:
        assert part in text


def test_a_report_of_one_row_has_no_empty_sections(bare_report: Report) -> None:
    headings = re.findall("^## (.*)", markdown(bare_report, COMMAND), re.M)
    assert headings == ["Scores", "How this page was made"]
    assert tex(bare_report).count(r"\begin{table}") == 1


@given(SIGNS)
def test_markdown_shows_names_literally(
    make_row: MakeRow, make_report: MakeReport, name: str
) -> None:
    report = make_report(rows=[make_row(name)], title=name, note=name.replace("`", ""))
    text = markdown(report, COMMAND)
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    opened = next(n for n, token in enumerate(tokens) if token.type == "td_open")
    seen = "".join(child.content for child in tokens[opened + 1].children or [])
    assert seen == " ".join(name.split())
    assert not any("html" in token.type for token in tokens)
    assert len(re.findall("^## ", text, re.M)) == 4  # neither more nor fewer headings


@pytest.mark.parametrize("start", ["# one", "- one", "+ one", "12. one", "3) one", "> one"])
def test_a_note_stays_a_paragraph(start: str, make_report: MakeReport) -> None:
    note = markdown(make_report(note=start), COMMAND).split("\n\n")[2]
    assert MarkdownIt().render(note) == f"<p>{start.replace('>', '&gt;')}</p>\n"


@given(SIGNS)
def test_tex_prints_names_literally(make_row: MakeRow, make_report: MakeReport, name: str) -> None:
    rows = [make_row("base"), make_row(name)]
    lines = tex(make_report(rows=rows)).split("\n")
    cell = lines[lines.index(r"    \midrule") + 2].split(" & ")[0].strip()
    cell = re.sub(r"\\text[a-z]+\{\}|\\[{}$&#%_]|\{[\[\]*]\}|-\{\}", " ", cell)
    assert not set(cell) & set("\\{}$&#%_^~<>|[]*`")
    assert "--" not in cell


def test_tex_lines_have_as_many_cells_as_columns(make_report: MakeReport) -> None:
    table = tex(make_report()).split(r"\begin{tabular}")[1].split(r"\end{tabular}")[0]
    columns = re.match(r"\{([lr]+)\}", table)
    assert columns
    assert {line.count(" & ") + 1 for line in table.split("\n") if "&" in line} == {len(columns[1])}


class Page(HTMLParser):
    """The tags of a page with their attributes; `script` would be a name that was not escaped."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_the_page_escapes_everything_and_is_self_contained(
    make_row: MakeRow, make_report: MakeReport
) -> None:
    report = make_report(
        **dict.fromkeys(["title", "source", "note"], HOSTILE),
        remarks=[HOSTILE],
        machines=[HOSTILE],
        rows=[make_row(HOSTILE), make_row("wide")],
        differences=[Difference(HOSTILE, "wide", "f1", 1, None, None, None, 1, None)],
    )
    page = Page(html(report, HOSTILE))
    names = [tag for tag, _ in page.tags]
    assert not {"script", "link", "img", "iframe"} & {*names}
    assert not any("src" in attributes for _, attributes in page.tags)
    assert names.count("table") == 2
    assert all(a.get("scope") for tag, a in page.tags if tag == "th")


@pytest.mark.parametrize(
    ("over_items", "over_seeds", "sign"),
    [(0.01, 0.03, "*"), (0.01, None, "†"), (0.01, 0.2, ""), (0.2, 0.01, ""), (None, 0.01, "")],
)
def test_a_difference_is_significant_over_items_and_over_seeds(
    over_items: float | None, over_seeds: float | None, sign: str
) -> None:
    found = Difference("a", "b", "f1", 1.0, 0.5, 1.5, over_items, 2, over_seeds)
    assert significance_sign(found) == sign


def test_numbers_are_short() -> None:
    assert [p_value(p) for p in (None, 0.0002, 0.0234)] == ["–", "< 0.001", "0.023"]
    assert [signed(points) for points in (-0.001, -1.5, 2)] == ["0.00", "−1.50", "+2.00"]
    assert [duration(s) for s in (None, 9.96, 59.4, 1e4)] == ["–", "10 s", "59 s", "167 min"]
    assert [size(n) for n in (None, 999, 23_456, 1_343_201)] == ["–", "999", "23 k", "1.34 M"]


def test_the_first_and_the_best_rows_are_drawn(make_row: MakeRow, make_report: MakeReport) -> None:
    rows = [make_row("base", 10.0), *(make_row(f"$x_{n}$ <&>", 50.0 + n) for n in range(12))]
    report = make_report(rows=rows)
    names = [row.name for row in drawn_rows(report)]
    assert names == ["base", *(f"$x_{n}$ <&>" for n in range(5, 12))]
    drawn = learning_curves(report)
    words = " ".join(ElementTree.fromstring(drawn).itertext())
    assert [name in words for name in names] == [True] * 8
    assert "$x_4$" not in words
    assert learning_curves(report) == drawn  # the same runs have the same file


@pytest.mark.parametrize("rows", [[], ["waiting"]])
def test_without_a_curve_there_is_still_a_figure(
    rows: list[str], make_absent: MakeRow, make_report: MakeReport
) -> None:
    report = make_report(rows=[make_absent(name) for name in rows])
    assert ElementTree.fromstring(learning_curves(report)).tag.endswith("svg")


def test_a_report_without_matplotlib(
    make_report: MakeReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "## Learning curves" not in markdown(make_report(), COMMAND)
