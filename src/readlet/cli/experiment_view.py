"""What a terminal shows of a grid: its plan as a table, its runs as lines."""

from pathlib import Path

from rich.table import Table as Lines
from rich.text import Text

from readlet.console import console, stderr_console
from readlet.errors import ReadletError
from readlet.experiments.formatting import duration
from readlet.experiments.grid import Grid, Run
from readlet.experiments.runner import find_finished
from readlet.experiments.store import FinishedRun, RunFolder


class GridView:
    """Watches a grid: a line for each run that begins or ends."""

    def __init__(self, grid: Grid, *, shown: bool = True) -> None:
        self._runs = len(grid.runs)
        self._shown = shown
        self._finished: set[str] = set()

    def found(self, run: Run, finished: FinishedRun) -> None:
        self._finished.add(run.key)

    def begun(self, run: Run) -> None:
        self.notified(f"{self.count()}: {run.label}")

    def finished(self, run: Run, finished: FinishedRun) -> None:
        self.found(run, finished)
        scores = finished.task.progress(finished.result.scores)
        time = duration(finished.result.seconds)
        self.notified(f"{self.count()}: {run.label}: {scores}, {time}")

    def failed(self, run: Run, error: ReadletError) -> None:
        self.notified(f"{run.label}: failed: {error}")

    def skipped(self, run: Run) -> None:
        self.notified(f"{run.label}: running in another process")

    def notified(self, text: str) -> None:
        if self._shown:
            stderr_console.print(text, markup=False, highlight=False, soft_wrap=True)

    def count(self) -> str:
        return f"{len(self._finished)} of {self._runs} done"


def grid_lines(grid: Grid, cells: dict[str, Text]) -> Lines:
    """Every row of the grid on a line, with the state of its runs."""
    seeds = sorted({run.seed for run in grid.runs})
    lines = Lines(title=Text(grid.table.title), title_justify="left", box=None, pad_edge=False)
    lines.add_column("row", no_wrap=True)
    for seed in seeds:
        lines.add_column(f"seed {seed}", justify="right", no_wrap=True)
    for row in grid.rows:
        of_seed = {run.seed: cells.get(run.key, Text("·")) for run in grid.of_row(row.name)}
        lines.add_row(Text(row.name), *(of_seed.get(seed, Text("")) for seed in seeds))
    return lines


def show_plan(grid: Grid, folder: Path) -> None:
    """Print the plan: the grid and its finished runs."""
    done, damaged = find_finished(grid, folder)
    for fault in damaged:
        stderr_console.print(fault, markup=False, highlight=False, soft_wrap=True)
    cells = {key: _score(finished) for key, finished in done.items()}
    for run in grid.runs:
        if run.key not in done and RunFolder(folder / run.key).is_begun:
            cells[run.key] = Text("begun", style="yellow")
    console.print(grid_lines(grid, cells))
    count = f"{len(done)} of {len(grid.runs)} runs done in {folder}"
    console.print(count, markup=False, soft_wrap=True)


def _score(finished: FinishedRun) -> Text:
    return Text(f"{finished.result.scores[finished.task.decisive]:.2f}", style="green")
