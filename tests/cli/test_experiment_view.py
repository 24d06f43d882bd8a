"""The live table of a grid in terminals of any size, and the lines of a search."""

import io
import re
from collections.abc import Callable

import pytest
from rich.console import Console

from readlet.cli import experiment_view as module
from readlet.cli.experiment_view import GridView, show_trial
from readlet.experiments.grid import Grid, expand
from readlet.experiments.search import TrialReport
from readlet.experiments.spec import Table

Shown = Callable[[], list[str]]


@pytest.fixture
def grid() -> Grid:
    """Forty rows, one of which lacks a part."""
    rates = {f"rate {n}": {"training": {"learning_rate": n * 1e-4}} for n in range(1, 40)}
    table = Table(
        name="many",
        title="Many rates",
        recipe="tiny",
        seeds=2,
        combine="all",
        axes={"rate": rates | {"rate 40": {"missing": "a part"}}},
    )
    return expand(table)


def shown_by(view: GridView, monkeypatch: pytest.MonkeyPatch, height: int, width: int) -> Shown:
    """The lines of the live table in a terminal of this size."""
    console = Console(file=io.StringIO(), height=height, width=width)
    monkeypatch.setattr(module, "CONSOLE", console)

    def shown() -> list[str]:
        with console.capture() as captured:
            console.print(view._lines())
        return captured.get().splitlines()

    return shown


@pytest.mark.parametrize("width", [80, 30])
@pytest.mark.parametrize("height", [8, 14, 24])
def test_a_table_taller_than_the_terminal_shows_the_current_run(
    grid: Grid, monkeypatch: pytest.MonkeyPatch, height: int, width: int
) -> None:
    view = GridView(grid)
    shown = shown_by(view, monkeypatch, height, width)
    of_row = {run.row: run for run in grid.runs}
    assert any("rate 1 " in line for line in shown())
    view.begun(of_row["rate 30"])
    lines = shown()
    assert len(lines) <= height - 2  # the progress bars of training are below
    rows = re.findall(r"rate (\d+) ", " ".join(lines))
    assert "30" in rows
    assert rows == sorted(rows, key=int)
    with view:
        pass
    whole = " ".join(shown())  # what remains at the end
    assert all(f"{row.name} " in whole for row in grid.rows)
    assert "(1) needs a part" in whole


def test_a_table_that_fits_is_shown_whole(grid: Grid, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown_by(GridView(grid), monkeypatch, 47, 80)()
    assert lines[-2:] == ["(1) needs a part", "0 of 78 done"]
    lines = shown_by(GridView(grid), monkeypatch, 46, 80)()
    assert lines[-1] == "0 of 78 done; 40 of 40 rows shown"


def test_the_count_names_the_metrics_that_are_shown(
    grid: Grid, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = GridView(grid)
    shown = shown_by(view, monkeypatch, 60, 80)
    view.evaluated(grid.runs[0], 1.0, {"exact": 50.0, "f1": 60.0, "total": 9})
    assert shown()[-1] == "0 of 78 done; F1 in percent"
    view.evaluated(grid.runs[1], 1.0, {"matthews_correlation": 60.0, "total": 9})
    assert shown()[-1] == "0 of 78 done; F1 or Matthews correlation in percent"


def test_a_trial_with_an_invalid_recipe_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(file=io.StringIO(), width=20)
    monkeypatch.setattr(module, "CONSOLE", console)
    with console.capture() as captured:
        show_trial(TrialReport(3, 20, {"model.kernel": 4}, refused="model.kernel: must be odd"))
    expected = "trial 3 of 20: model.kernel=4: invalid recipe (model.kernel: must be odd)\n"
    assert captured.get() == expected
