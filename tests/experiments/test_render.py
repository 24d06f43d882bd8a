"""The forms of a report: right words, nothing that escapes its place, a page that stands alone."""

import dataclasses
import re
import string
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from readlet.experiments.curves import ROWS_DRAWN, curves_caption, drawn_rows, learning_curves
from readlet.experiments.differences import Difference
from readlet.experiments.disagreements import Disagreement, Mark
from readlet.experiments.render_html import html, pieces
from readlet.experiments.render_markdown import markdown
from readlet.experiments.render_tex import tex
from readlet.experiments.report import Cell, CurvePoint, GroupPart, Report, ReportRow
from readlet.experiments.wording import (
    code_parts,
    duration,
    is_sure,
    main_table,
    metric_name,
    p_value,
    signed,
    size,
)

COMMAND = "readlet experiment report bridges"
HOSTILE = "<script>x|y & z_1 {a} \\b ^~ [c] *d* `e` $f$ #g 100%"
EXCERPT = "…The Lantern Bridge was begun by the mason Hedda Quill in 1881."
SIGNS = st.text(alphabet=string.punctuation + "aé1 ", min_size=1).filter(str.strip)


def make_row(name: str, f1: float | None = 70.0, **changes: Any) -> ReportRow:
    curve = [CurvePoint(e, f1 - 9, f1 - 9 / e, f1 - 10 / e, f1 - 8 / e) for e in (1, 2, 3)]
    row = ReportRow(
        name=name,
        missing="",
        planned=2,
        finished=2,
        cells={
            "exact": Cell(f1 - 9, 0.5, {0: f1 - 9.5, 1: f1 - 8.5}, is_best=False),
            "f1": Cell(f1, 0.25, {0: f1 - 0.25, 1: f1 + 0.25}, is_best=name == "wide"),
        },
        paper={},
        parameters=1_343_201,
        seconds=95.0,
        curve=curve,
    )
    return dataclasses.replace(row, **changes)


def make_absent(name: str, **changes: Any) -> ReportRow:
    absent = {"cells": {}, "curve": [], "parameters": None, "seconds": None, "finished": 0}
    return make_row(name, **(absent | changes))


def make_report(**changes: Any) -> Report:
    rows = [
        make_row("base", paper={"f1": 73.6842}),
        make_row("wide", 71.5),
        make_absent("via French", missing="needs `readlet augment`", planned=0),
    ]
    report = Report(
        name="bridges",
        title="What a wider layer is worth",
        source="A made-up paper, Table 1",
        note="Every row changes one thing.",
        metrics=["exact", "f1"],
        rows=rows,
        differences=[
            Difference("wide", "base", "exact", 1.5, 0.4, 2.6, 0.01, 2, 0.03),
            Difference("wide", "base", "f1", -1.5, -2.6, -0.4, 0.0001, 2, 0.2),
        ],
        groups={
            "question type": [
                GroupPart("who", 1234, {"base": 60.0, "wide": 64.0}),
                GroupPart("when", 7, {"base": 80.0, "wide": 55.0}),
            ]
        },
        disagreements=[
            Disagreement(
                row="wide",
                against="base",
                id="q1",
                question="Who began the bridge?",
                excerpt=EXCERPT,
                marks=[
                    _mark("Hedda Quill", "gold"),
                    _mark("the mason Hedda", "row"),
                    _mark("Quill in 1881", "against"),
                ],
                gold=["Hedda Quill"],
                said="the mason Hedda",
                said_against="",
                f1=50.0,
                f1_against=40.0,
            )
        ],
        questions=1241,
        code={"readlet 0.1.0 (abc), torch 2.9": ["base", "wide"]},
        machines=["2 cores"],
        remarks=["One remark."],
    )
    return dataclasses.replace(report, **changes)


def _mark(text: str, whose: str) -> Mark:
    start = EXCERPT.index(text)
    return Mark(start, start + len(text), whose)


def bare_report() -> Report:
    """One row with one seed and nothing else."""
    row = make_row("only", cells={"f1": Cell(70.0, None, {0: 70.0}, is_best=True)}, curve=[])
    return make_report(
        source="",
        note="",
        metrics=["f1"],
        rows=[dataclasses.replace(row, planned=1, finished=1)],
        differences=[],
        groups={},
        disagreements=[],
        questions=None,
        remarks=[],
    )


# --- words and numbers ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        ("exact", "EM"),
        ("f1", "F1"),
        ("HasAns_f1", "F1, with answer"),
        ("NoAns_exact", "EM, without answer"),
        ("speed_f2", "speed_f2"),
    ],
)
def test_metrics_have_names_for_people(metric: str, name: str) -> None:
    assert metric_name(metric) == name


def test_numbers_are_short() -> None:
    assert [duration(s) for s in (None, 4.21, 42, 99.4, 99.6, 4210, 90_000)] == [
        *("–", "4.2 s", "42 s", "99 s", "1.7 min", "70 min", "1,500 min")
    ]
    assert [size(n) for n in (None, 9_000, 345_678, 999_600, 1_343_201)] == [
        *("–", "9,000", "346 k", "1.00 M", "1.34 M")
    ]
    assert [p_value(p) for p in (None, 0.0004, 0.001, 0.62, 1.0)] == [
        *("–", "< 0.001", "0.001", "0.620", "1.000")
    ]
    assert [signed(x) for x in (1.234, -0.5, 0.001, -0.001)] == ["+1.23", "−0.50", "0.00", "0.00"]


@pytest.mark.parametrize(
    ("over_questions", "over_seeds", "sure"),
    [
        (0.01, 0.01, True),
        (0.01, None, True),
        (0.01, 0.05, False),
        (0.05, 0.01, False),
        (None, 0.01, False),
    ],
)
def test_a_difference_is_sure_over_questions_and_over_seeds(
    over_questions: float | None, over_seeds: float | None, sure: bool
) -> None:
    assert is_sure(Difference("a", "b", "f1", 1, 0, 2, over_questions, 2, over_seeds)) is sure


def test_code_is_found_in_prose() -> None:
    assert code_parts("run `a  b`\nnow") == [("run ", False), ("a b", True), (" now", False)]
    assert code_parts("one ` alone") == [("one ` alone", False)]


def test_columns_appear_only_where_they_tell_something() -> None:
    headings, lines = main_table(make_report())
    assert headings == ["EM", "F1", "F1, paper", "Parameters", "Time of a run"]
    assert [entry.text for entry in lines[0]] == ["61.00", "70.00", "73.68", "1.34 M", "95 s"]
    assert [entry.text for entry in lines[2]] == ["–"] * 5
    rows = [make_row("base"), make_row("begun", finished=1), make_absent("waiting")]
    headings, lines = main_table(make_report(rows=rows))
    assert headings == ["EM", "F1", "Runs", "Parameters", "Time of a run"]
    assert [line[2].text for line in lines] == ["2/2", "1/2", "0/2"]


def test_papers_figures_keep_their_decimals() -> None:
    rows = [make_row("a", paper={"f1": 77.0}), make_row("b", paper={"f1": 76.5})]
    _, lines = main_table(make_report(rows=rows))
    assert [line[2].text for line in lines] == ["77.0", "76.5"]


# --- all forms ------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["markdown", "html", "tex"])
def test_every_form_tells_the_same(form: str) -> None:
    report = make_report()
    forms = {"markdown": markdown(report, COMMAND), "html": html(report, COMMAND)}
    text = (forms | {"tex": tex(report)})[form]
    told = ["What a wider layer is worth", "A made-up paper", "base", "wide", "via French", "73.68"]
    told += ["61.00", "0.25", "readlet augment", "One remark.", "0.030", "Holm", "not over seeds"]
    for part in told:
        assert part in text
    bold = {"markdown": "**71.50**", "html": "<strong>71.50</strong>", "tex": r"\textbf{71.50}"}
    assert bold[form] in text
    if form != "tex":
        assert COMMAND in text
        assert "torch 2.9" in text
        assert "Who began the bridge?" in text
        assert "1,234" in text


def test_a_report_of_one_row_has_no_empty_sections() -> None:
    report = bare_report()
    assert re.findall("^## (.*)", markdown(report, COMMAND), re.M) == [
        *("Scores", "How this page was made")
    ]
    assert html(report, COMMAND).count("<h2>") == 2
    assert tex(report).count(r"\begin{table}") == 1


# --- Markdown -------------------------------------------------------------------------------------


def cells_of(text: str) -> list[str]:
    """What a reader sees of the first column of the first table."""
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    opened = [n for n, token in enumerate(tokens) if token.type == "td_open"]
    seen = ["".join(c.content for c in tokens[n + 1].children or []) for n in opened]
    assert not any("html" in token.type for token in tokens)
    return seen


@given(SIGNS)
def test_markdown_shows_names_as_they_are(name: str) -> None:
    report = make_report(rows=[make_row(name)], title=name, note=name.replace("`", ""))
    text = markdown(report, COMMAND)
    assert cells_of(text)[0] == " ".join(name.split())
    assert len(re.findall("^## ", text, re.M)) == 6  # neither more nor fewer headings


def test_markdown_refers_to_its_picture() -> None:
    assert "](bridges-curves.svg)" in markdown(make_report(), COMMAND)


def test_markdown_brackets_marks_that_overlap() -> None:
    text = markdown(make_report(), COMMAND)
    assert "by ⟨the mason ⟦Hedda⟩ ⟪Quill⟧ in 1881⟫." in text


@pytest.mark.parametrize("start", ["# one", "- one", "+ one", "12. one", "3) one", "> one"])
def test_a_note_stays_a_paragraph(start: str) -> None:
    note = markdown(make_report(note=start), COMMAND).split("\n\n")[2]
    assert MarkdownIt().render(note) == f"<p>{start.replace('>', '&gt;')}</p>\n"


# --- TeX ------------------------------------------------------------------------------------------


@given(SIGNS)
def test_tex_prints_names_as_they_are(name: str) -> None:
    rows = [make_row("base"), make_row(name)]
    lines = tex(make_report(rows=rows)).split("\n")
    cell = lines[lines.index(r"    \midrule") + 2].split(" & ")[0].strip()
    cell = re.sub(r"\\text[a-z]+\{\}|\\[{}$&#%_]|\{[\[\]*]\}|-\{\}", " ", cell)
    assert not set(cell) & set("\\{}$&#%_^~<>|[]*`")
    assert "--" not in cell


def test_tex_lines_have_as_many_cells_as_columns() -> None:
    for table in tex(make_report()).split(r"\begin{tabular}")[1:]:
        columns = re.match(r"\{([lr]+)\}", table)
        lines = [line for line in table.split(r"\end{tabular}")[0].split("\n") if "&" in line]
        assert columns
        assert {line.count(" & ") + 1 for line in lines} == {len(columns[1])}


# --- HTML -----------------------------------------------------------------------------------------


class Page(HTMLParser):
    """Checks that tags nest, and keeps them with their attributes."""

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


@pytest.mark.parametrize("report", [make_report(), bare_report()], ids=["whole", "bare"])
def test_the_page_is_well_formed_and_stands_alone(report: Report) -> None:
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


def test_the_page_escapes_everything() -> None:
    report = make_report()
    rows = [make_row(HOSTILE), *report.rows[1:]]
    found = dataclasses.replace(
        report.disagreements[0],
        row=HOSTILE,
        question=HOSTILE,
        excerpt=HOSTILE,
        marks=[Mark(0, 5, "row"), Mark(2, 9, "gold")],
        gold=[HOSTILE],
        said=HOSTILE,
    )
    hostile = make_report(
        title=HOSTILE,
        source=HOSTILE,
        note=HOSTILE,
        remarks=[HOSTILE],
        machines=[HOSTILE],
        rows=rows,
        disagreements=[found],
        groups={HOSTILE: [GroupPart(HOSTILE, 3, {HOSTILE: 50.0, "wide": 51.0})]},
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
def test_pieces_are_covered_by_the_marks_that_cover_each_letter(
    excerpt: str, listed: list[Mark]
) -> None:
    expected = [{m.whose for m in listed if m.start <= n < m.end} for n in range(len(excerpt))]
    found = list(pieces(excerpt, listed))
    assert "".join(piece for piece, _ in found) == excerpt
    assert [set(whose) for piece, whose in found for _ in piece] == expected


def test_marks_that_overlap_are_all_shown() -> None:
    page = Page(html(make_report(), COMMAND))
    shown = [attributes["class"] for tag, attributes in page.tags if tag == "mark"]
    legend = ["gold", "row", "against"]
    assert shown == [*legend, "row", "gold row", "gold", "gold against", "against"]


def test_gains_and_losses_are_told_apart() -> None:
    page = Page(html(make_report(), COMMAND))
    styled = [(a["class"], a["style"]) for tag, a in page.tags if tag == "td" and "style" in a]
    # 25 points are cut to the 10 of the longest bar.
    assert styled == [("gain", "--size: 40%"), ("loss", "--size: 100%")]


def test_the_template_is_part_of_the_package() -> None:
    assert (files("readlet") / "experiments" / "page.html.j2").is_file()


# --- learning curves ------------------------------------------------------------------------------


def test_the_baseline_and_the_best_rows_are_drawn() -> None:
    names = [f"row {number}" for number in range(12)]
    report = make_report(rows=[make_row(n, 60.0 + number) for number, n in enumerate(names)])
    assert [row.name for row in drawn_rows(report)] == ["row 0", *names[-ROWS_DRAWN + 1 :]]
    assert "4 left out" in curves_caption(report)
    assert "left out" not in curves_caption(make_report())
    for standalone in (False, True):
        ElementTree.fromstring(learning_curves(report, standalone=standalone))


def test_a_picture_of_its_own_has_its_own_colours() -> None:
    alone = learning_curves(make_report(), standalone=True)
    assert "currentColor" not in alone
    assert "var(" not in alone
    assert '<rect width="100%" height="100%" fill="#ffffff"/>' in alone
    within = learning_curves(make_report())
    assert "currentColor" in within
    assert "<rect" not in within


@pytest.mark.parametrize("rows", [[], [make_absent("waiting")]])
def test_without_a_curve_there_is_still_a_picture(rows: list[ReportRow]) -> None:
    report = make_report(rows=rows)
    assert "No learning curve yet" in learning_curves(report, standalone=True)
    assert "curves.svg" not in markdown(report, COMMAND)


scores = st.floats(0, 100)
curve_points = st.builds(
    lambda epoch, values: CurvePoint(epoch, 0.0, values[1], values[0], values[2]),
    st.floats(0, 1000),
    st.lists(scores, min_size=3, max_size=3).map(sorted),
)
curves = st.lists(curve_points, min_size=1, max_size=20, unique_by=lambda point: point.epoch)


@given(st.lists(curves, min_size=1, max_size=3), st.text())
def test_lines_stay_inside_the_picture(listed: list[list[CurvePoint]], name: str) -> None:
    rows = [
        make_row(f"{n}{name}", curve=sorted(curve, key=lambda point: point.epoch))
        for n, curve in enumerate(listed)
    ]
    drawn = ElementTree.fromstring(learning_curves(make_report(rows=rows)))
    _, _, width, height = map(float, drawn.attrib["viewBox"].split())
    for path in drawn.iter("{http://www.w3.org/2000/svg}path"):
        for x, y in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", path.attrib["d"]):
            if path.attrib["d"][0] == "M" and "stroke-width" in path.attrib:
                assert 0 <= float(x) <= width
                assert 0 <= float(y) <= height
