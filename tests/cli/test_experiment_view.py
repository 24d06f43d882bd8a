"""The live table of a grid, and the lines of a search."""

import io
from collections.abc import Callable

import pytest
from rich.console import Console, RenderableType

from readlet.cli import experiment_view as module
from readlet.cli.experiment_view import GridView
from readlet.experiments.grid import Grid, expand
from readlet.experiments.spec import Table


@pytest.fixture
def grid() -> Grid:
    """Two rows."""
    rates = {f"rate {n}": {"training": {"learning_rate": n * 1e-3}} for n in (1, 2)}
    return expand(Table(name="rates", title="Rates", recipe="tiny", seeds=2, axes={"rate": rates}))


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Callable[[RenderableType], list[str]]:
    """The lines of something in a small terminal."""
    console = Console(file=io.StringIO(), width=40)
    monkeypatch.setattr(module, "stderr_console", console)

    def lines(renderable: RenderableType) -> list[str]:
        with console.capture() as captured:
            console.print(renderable)
        return captured.get().splitlines()

    return lines


def test_the_live_table_begins_with_the_current_run(
    grid: Grid, shown: Callable[[RenderableType], list[str]]
) -> None:
    view = GridView(grid)
    run = grid.runs[1]
    view.begun(run)
    assert shown(view._lines())[0] == "0 of 4 done; rate 1, seed 1"
    view.evaluated(run, 1.0, {"exact": 50.0, "f1": 60.0, "total": 9})
    status, title, *_, row, other = shown(view._lines())
    assert "EM 50.00, F1 60.00" in status + title
    assert row.split() == ["rate", "1", "·", "60.0", "at", f"1/{run.recipe.training.epochs}"]
    assert other.split() == ["rate", "2", "·", "·"]
