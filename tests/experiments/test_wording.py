"""Texts and numbers of a report that all formats share."""

from collections.abc import Callable

import pytest

from readlet.experiments.differences import Difference
from readlet.experiments.report import Cell, Report, ReportRow
from readlet.experiments.wording import (
    code_parts,
    curve_label,
    difference_table,
    duration,
    how_compared,
    main_table,
    p_value,
    signed,
    significance_sign,
    size,
)

MakeRow = Callable[..., ReportRow]
MakeReport = Callable[..., Report]


@pytest.mark.parametrize(
    ("metric", "label"),
    [
        ("exact", "EM"),
        ("f1", "F1"),
        ("HasAns_f1", "F1, with answer"),
        ("NoAns_exact", "EM, without answer"),
        ("matthews_correlation", "Matthews correlation"),
    ],
)
def test_metrics_have_labels(
    metric: str, label: str, make_row: MakeRow, make_report: MakeReport
) -> None:
    row = make_row("base", cells={metric: Cell(50.0, None, {0: 50.0}, is_best=True)})
    headings, _ = main_table(make_report(metrics=[metric], rows=[row]))
    assert headings[0] == label


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
    ("over_questions", "over_seeds", "sign"),
    [
        (0.01, 0.01, "*"),
        (0.01, None, "†"),  # too few seeds
        (0.01, 0.05, ""),
        (0.05, 0.01, ""),
        (0.05, None, ""),
        (None, 0.01, ""),
    ],
)
def test_a_difference_is_significant_over_questions_and_over_seeds(
    over_questions: float | None, over_seeds: float | None, sign: str, make_report: MakeReport
) -> None:
    difference = Difference("a", "b", "f1", 1, 0, 2, over_questions, 2, over_seeds)
    assert significance_sign(difference) == sign
    _, (line,) = difference_table(make_report(differences=[difference]))
    assert line[2] == f"+1.00{sign}"


@pytest.mark.parametrize("noun", ["questions", "sentences"])
def test_every_sign_is_explained(noun: str, make_report: MakeReport) -> None:
    text = how_compared(make_report(noun=noun))
    assert "* marks" in text
    assert f"† one that is significant over {noun} only" in text
    headings, _ = difference_table(make_report(noun=noun))
    assert f"p over {noun}" in headings


def test_curves_are_labelled_with_the_decisive_metrics(
    make_row: MakeRow, make_report: MakeReport
) -> None:
    assert curve_label(make_report()) == "F1"
    rows = [make_row("a", task="sst2"), make_row("b", task="cola"), make_row("c", task="sst2")]
    assert curve_label(make_report(rows=rows)) == "Accuracy or Matthews correlation"


def test_code_is_found_in_prose() -> None:
    assert code_parts("run `a  b`\nnow") == [("run ", False), ("a b", True), (" now", False)]
    assert code_parts("one ` alone") == [("one ` alone", False)]


def test_columns_appear_only_if_they_have_values(
    make_row: MakeRow, make_absent: MakeRow, make_report: MakeReport
) -> None:
    headings, lines = main_table(make_report())
    assert headings == ["EM", "F1", "F1, paper", "Parameters", "Time of a run"]
    assert [entry.text for entry in lines[0]] == ["61.00", "70.00", "73.68", "1.34 M", "95 s"]
    assert [entry.text for entry in lines[2]] == ["–"] * 5
    rows = [make_row("base"), make_row("begun", finished=1), make_absent("waiting")]
    headings, lines = main_table(make_report(rows=rows))
    assert headings == ["EM", "F1", "Runs", "Parameters", "Time of a run"]
    assert [line[2].text for line in lines] == ["2/2", "1/2", "0/2"]


def test_papers_figures_keep_their_decimals(make_row: MakeRow, make_report: MakeReport) -> None:
    rows = [make_row("a", paper={"f1": 77.0}), make_row("b", paper={"f1": 76.5})]
    _, lines = main_table(make_report(rows=rows))
    assert [line[2].text for line in lines] == ["77.0", "76.5"]
