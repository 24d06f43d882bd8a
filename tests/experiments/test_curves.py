"""The figure of the learning curves."""

import re
from collections.abc import Callable
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readlet.experiments.curves import ROWS_DRAWN, curves_caption, drawn_rows, learning_curves
from readlet.experiments.render_markdown import markdown
from readlet.experiments.report import CurvePoint, Report, ReportRow

COMMAND = "readlet experiment report bridges"
MakeRow = Callable[..., ReportRow]
MakeReport = Callable[..., Report]


def test_the_baseline_and_the_best_rows_are_drawn(
    make_row: MakeRow, make_report: MakeReport
) -> None:
    names = [f"row {number}" for number in range(12)]
    report = make_report(rows=[make_row(n, 60.0 + number) for number, n in enumerate(names)])
    assert [row.name for row in drawn_rows(report)] == ["row 0", *names[-ROWS_DRAWN + 1 :]]
    assert "4 left out" in curves_caption(report)
    assert "left out" not in curves_caption(make_report())
    for standalone in (False, True):
        ElementTree.fromstring(learning_curves(report, standalone=standalone))


def test_a_standalone_figure_has_its_own_colours(make_report: MakeReport) -> None:
    alone = learning_curves(make_report(), standalone=True)
    assert "currentColor" not in alone
    assert "var(" not in alone
    assert '<rect width="100%" height="100%" fill="#ffffff"/>' in alone
    within = learning_curves(make_report())
    assert "currentColor" in within
    assert "<rect" not in within


@pytest.mark.parametrize("rows", [[], ["waiting"]])
def test_without_a_curve_there_is_still_a_figure(
    rows: list[str], make_absent: MakeRow, make_report: MakeReport
) -> None:
    report = make_report(rows=[make_absent(name) for name in rows])
    assert "No learning curve yet" in learning_curves(report, standalone=True)
    assert "curves.svg" not in markdown(report, COMMAND)


def test_one_evaluation_has_one_tick(make_row: MakeRow, make_report: MakeReport) -> None:
    report = make_report(rows=[make_row("base", curve=[CurvePoint(1.0, 60.0, 59.0, 61.0)])])
    drawn = ElementTree.fromstring(learning_curves(report))
    texts = drawn.iter("{http://www.w3.org/2000/svg}text")
    below = [t.text for t in texts if t.attrib.get("text-anchor") == "middle"]
    assert below == ["1", "Epoch", "F1"]


scores = st.floats(0, 100)
curve_points = st.builds(
    lambda epoch, values: CurvePoint(epoch, values[1], values[0], values[2]),
    st.floats(0, 1000),
    st.lists(scores, min_size=3, max_size=3).map(sorted),
)
curves = st.lists(curve_points, min_size=1, max_size=20, unique_by=lambda point: point.epoch)


@given(st.lists(curves, min_size=1, max_size=3), st.text())
def test_lines_stay_inside_the_figure(
    make_row: MakeRow, make_report: MakeReport, listed: list[list[CurvePoint]], name: str
) -> None:
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
