"""The view of a grid of runs: a live table in a terminal, plain lines elsewhere."""

import sys
from contextlib import nullcontext
from pathlib import Path

from rich.console import Group
from rich.live import Live
from rich.table import Table as Lines
from rich.text import Text

from readlet.console import console, stderr_console
from readlet.errors import ReadletError
from readlet.evaluation.tasks import task_of
from readlet.experiments.formatting import duration
from readlet.experiments.grid import Grid, Run
from readlet.experiments.runner import find_finished, seconds_left
from readlet.experiments.search import TrialReport
from readlet.experiments.store import DamagedRunError, FinishedRun, RunFolder


class GridView:
    """Watches a grid: one line per row and one column per seed, below the state of the runs."""

    def __init__(self, grid: Grid, *, shown: bool = True) -> None:
        self._grid = grid
        self._shown = shown
        self._is_live = shown and sys.stderr.isatty()
        self._cells: dict[str, Text] = {}
        self._finished: set[str] = set()
        self._status = ""

    def live(self) -> Live | nullcontext[None]:
        """To be entered while the runs are made; a table too tall for the terminal is cut."""
        if not self._is_live:
            return nullcontext()
        return Live(console=stderr_console, get_renderable=self._lines, refresh_per_second=2)

    def found(self, run: Run, finished: FinishedRun) -> None:
        self._finished.add(run.key)
        self._cells[run.key] = _score(finished)

    def set_aside(self, run: Run, error: DamagedRunError, place: Path) -> None:
        self.notified(f"{run.label}: {error}; the folder is now {place.name}")

    def begun(self, run: Run) -> None:
        self._cells[run.key] = Text("begun", style="yellow")
        self._say(run.label)

    def evaluated(self, run: Run, epoch: float, scores: dict[str, float]) -> None:
        task = task_of(scores)
        passed = f"{epoch:.3g}/{run.recipe.training.epochs}"
        self._cells[run.key] = Text(f"{scores[task.decisive]:.1f} at {passed}", style="yellow")
        self._status = f"{run.label}: {task.progress(scores)} at epoch {passed}"

    def finished(self, run: Run, finished: FinishedRun) -> None:
        self.found(run, finished)
        scores = finished.task.progress(finished.result.scores)
        self._say(f"{run.label}: {scores}, {duration(finished.result.seconds)}")

    def failed(self, run: Run, error: ReadletError) -> None:
        self._cells[run.key] = Text("failed", style="bold red")
        self.notified(f"{run.label}: failed: {error}")

    def skipped(self, run: Run) -> None:
        self._cells[run.key] = Text("elsewhere", style="yellow")
        self.notified(f"{run.label}: running in another process")

    def notified(self, text: str) -> None:
        if self._shown:
            stderr_console.print(text, markup=False, highlight=False, soft_wrap=True)

    def say_count(self) -> None:
        """At the end; a live table shows it already."""
        if not self._is_live:
            self.notified(self._count())

    def _say(self, text: str) -> None:
        """Print what a live table shows already."""
        self._status = text
        if not self._is_live:
            self.notified(f"{self._count()}: {text}")

    def _count(self) -> str:
        return f"{len(self._finished)} of {len(self._grid.runs)} done"

    def _lines(self) -> Group:
        status = Text(f"{self._count()}; {self._status}", style="dim")
        return Group(status, grid_lines(self._grid, self._cells))


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
    """Print the plan: the grid, the finished runs and an estimate of the time left."""
    done, damaged = find_finished(grid, folder)
    for fault in damaged:
        stderr_console.print(fault, markup=False, highlight=False, soft_wrap=True)
    cells = {key: _score(finished) for key, finished in done.items()}
    for run in grid.runs:
        place = RunFolder(folder / run.key)
        if run.key not in done and place.is_begun:
            passed = f"{place.progress():.3g}/{run.recipe.training.epochs}"
            cells[run.key] = Text(f"epoch {passed}", style="yellow")
    console.print(grid_lines(grid, cells))
    left = seconds_left(grid, folder, done)
    time = "unknown until one is done" if left is None else duration(left) if left else "none"
    console.print(
        f"{len(done)} of {len(grid.runs)} runs done in {folder}; time left: {time}",
        markup=False,
        soft_wrap=True,
    )


def _score(finished: FinishedRun) -> Text:
    return Text(f"{finished.result.scores[finished.task.decisive]:.2f}", style="green")


def show_trial(trial: TrialReport) -> None:
    pairs = trial.values.items()
    values = ", ".join(f"{k}={v:.3g}" if isinstance(v, float) else f"{k}={v}" for k, v in pairs)
    result = f": {trial.result}" if trial.result else ""
    text = f"trial {trial.number} of {trial.of}: {values}{result}"
    stderr_console.print(text, markup=False, highlight=False, soft_wrap=True)
