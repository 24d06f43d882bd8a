"""A small table with a network that trains in seconds, and a made-up report."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.experiments.differences import Difference
from readlet.experiments.report import Cell, CurvePoint, Report, ReportRow


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READLET_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def table_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Not `tmp_path`, which tests use as the folder of runs: it must hold nothing else."""
    return tmp_path_factory.mktemp("table")


@pytest.fixture
def write_table(table_folder: Path, small_table: str) -> Callable[..., str]:
    """Write the small table with some of its text replaced, and return its path."""

    def write(*replacements: tuple[str, str], more: str = "") -> str:
        text = small_table + more
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new)
        path = table_folder / "table.toml"
        path.write_text(text)
        return str(path)

    return write


def _row(name: str, f1: float | None = 70.0, **changes: Any) -> ReportRow:
    curve = [CurvePoint(e, f1 - 9 / e, f1 - 10 / e, f1 - 8 / e) for e in (1, 2, 3)]
    row = ReportRow(
        name=name,
        task="spans",
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


def _absent(name: str, **changes: Any) -> ReportRow:
    absent = {
        "task": "",
        "cells": {},
        "curve": [],
        "parameters": None,
        "seconds": None,
        "finished": 0,
    }
    return _row(name, **(absent | changes))


def _report(**changes: Any) -> Report:
    rows = [
        _row("base", paper={"f1": 73.6842}),
        _row("wide", 71.5),
        _absent("via French"),
    ]
    report = Report(
        name="bridges",
        title="The effect of a wider layer",
        source="A made-up paper, Table 1",
        note="Every row changes one thing.",
        metrics=["exact", "f1"],
        rows=rows,
        differences=[
            Difference("wide", "base", "exact", 1.5, 0.4, 2.6, 0.01, 2, 0.03),
            Difference("wide", "base", "f1", -1.5, -2.6, -0.4, 0.0001, 2, 0.2),
        ],
        noun="questions",
        items=1241,
        versions=["readlet 0.1.0 (abc), torch 2.9"],
        machines=["2 cores"],
        remarks=["One remark on `readlet augment`."],
    )
    return dataclasses.replace(report, **changes)


@pytest.fixture(scope="session")
def make_row() -> Callable[..., ReportRow]:
    """A finished row of a report, by name and F1, with optional changes."""
    return _row


@pytest.fixture(scope="session")
def make_report() -> Callable[..., Report]:
    """A report with something in each of its parts, with optional changes."""
    return _report
