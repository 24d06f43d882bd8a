"""The view of a grid of runs: a live table in a terminal, plain lines elsewhere."""

import sys
from pathlib import Path
from types import TracebackType

from rich.console import Group
from rich.live import Live
from rich.table import Table as Lines
from rich.text import Text

from readlet.cli.console import console
from readlet.errors import ReadletError
from readlet.evaluation.tasks import task_of
from readlet.experiments.formatting import duration
from readlet.experiments.grid import Grid, Row, Run
from readlet.experiments.runner import find_finished, seconds_left
from readlet.experiments.search import TrialReport
from readlet.experiments.store import DamagedRunError, FinishedRun, RunFolder
from readlet.progress import CONSOLE

WAITING = Text("·", style="dim")
_AROUND = 6  # lines around the rows: title, headings, count, progress bars


class GridView:
    """A live table of the grid: one line per row, one column per seed."""

    def __init__(self, grid: Grid, *, shown: bool = True) -> None:
        self._grid = grid
        self._shown = shown
        self._cells: dict[str, Text] = {}
        self._finished: dict[str, FinishedRun] = {}
        self._labels: dict[str, None] = {}  # labels of the metrics shown, without repetition
        self._current = ""  # a row
        self._is_over = False
        self._live: Live | None = None
        if shown and sys.stderr.isatty():
            self._live = Live(console=CONSOLE, get_renderable=self._lines, refresh_per_second=2)

    def __enter__(self) -> "GridView":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over = True
        if self._live is not None:
            self._live.stop()
        elif kind is None:
            self._warn(self._count())

    def found(self, run: Run, finished: FinishedRun) -> None:
        self._finished[run.key] = finished
        self._labels[finished.task.decisive_label] = None
        self._cells[run.key] = _score(finished)

    def set_aside(self, run: Run, error: DamagedRunError, place: Path) -> None:
        self._warn(f"{run.label}: {error}; the folder is now {place.name}")

    def begun(self, run: Run) -> None:
        self._current = run.row
        self._cells[run.key] = Text("begun", style="yellow")
        self._say(f"{self._count()}: {run.label}")

    def evaluated(self, run: Run, epoch: float, scores: dict[str, float]) -> None:
        epochs = run.recipe.training.epochs
        task = task_of(scores)
        self._labels[task.decisive_label] = None
        score = scores[task.decisive]
        self._cells[run.key] = Text(f"{score:.1f} at {epoch:.3g}/{epochs}", style="yellow")

    def finished(self, run: Run, finished: FinishedRun) -> None:
        self.found(run, finished)
        self._say(f"{self._count()}: {run.label}: {_summary(finished)}")

    def failed(self, run: Run, error: ReadletError) -> None:
        self._cells[run.key] = Text("failed", style="bold red")
        self._warn(f"{run.label}: failed: {error}")

    def skipped(self, run: Run) -> None:
        self._cells[run.key] = Text("elsewhere", style="yellow")
        self._warn(f"{run.label}: running in another process")

    def notified(self, text: str) -> None:
        self._warn(text)

    def _count(self) -> str:
        return f"{len(self._finished)} of {len(self._grid.runs)} done"

    def _say(self, text: str) -> None:
        """Print what a live table shows already."""
        if self._live is None:
            self._warn(text)

    def _warn(self, text: str) -> None:
        if self._shown:
            CONSOLE.print(text, markup=False, highlight=False, soft_wrap=True)

    def _lines(self) -> Group:
        """The whole grid; during the runs, only the rows around the current one that fit."""
        status = self._count()
        if self._labels:
            status += f"; {' or '.join(self._labels)} in percent"
        rows, needs = self._grid.rows, _needs(self._grid)
        room = max(CONSOLE.height - _AROUND, 1)
        if not self._is_over and len(rows) + len(needs) > room:
            here = next((n for n, row in enumerate(rows) if row.name == self._current), 0)
            first = max(min(here - room // 2, len(rows) - room), 0)
            status += f"; {min(room, len(rows))} of {len(rows)} rows shown"
            rows, needs = rows[first : first + room], []
        return Group(grid_lines(self._grid, self._cells, rows), *needs, Text(status, style="dim"))


def grid_lines(grid: Grid, cells: dict[str, Text], rows: list[Row]) -> Lines:
    """Some rows of the grid, a line each, with the state of every run.

    `_needs` lists what is missing for rows that cannot be run.
    """
    missing = _missing(grid)
    seeds = sorted({run.seed for run in grid.runs})
    lines = Lines(title=Text(grid.table.title), title_justify="left", box=None, pad_edge=False)
    lines.add_column("row", no_wrap=True)
    for seed in seeds:
        lines.add_column(f"seed {seed}", justify="right", no_wrap=True)
    for row in rows:
        of_seed = {run.seed: cells.get(run.key, WAITING) for run in grid.of_row(row.name)}
        if row.missing:
            number = f"({missing.index(row.missing) + 1})"
            lines.add_row(Text(row.name, style="dim"), Text(number, style="dim"))
        else:
            lines.add_row(Text(row.name), *(of_seed.get(seed, Text("")) for seed in seeds))
    return lines


def _needs(grid: Grid) -> list[Text]:
    """One line for all rows that lack the same part."""
    parts = enumerate(_missing(grid), start=1)
    return [Text(f"({number}) needs {part}", style="dim") for number, part in parts]


def _missing(grid: Grid) -> list[str]:
    return list(dict.fromkeys(row.missing for row in grid.rows if row.missing))


def show_plan(grid: Grid, folder: Path) -> None:
    """Print the plan: the grid, the finished runs and an estimate of the time left."""
    done, damaged = find_finished(grid, folder)
    for fault in damaged:
        CONSOLE.print(fault, markup=False, highlight=False, soft_wrap=True)
    cells = {key: _score(finished) for key, finished in done.items()}
    for run in grid.runs:
        place = RunFolder(folder / run.key)
        if run.key not in done and place.is_begun:
            epochs = run.recipe.training.epochs
            cells[run.key] = Text(f"epoch {place.progress():.3g}/{epochs}", style="yellow")
    console.print(grid_lines(grid, cells, grid.rows))
    for line in _needs(grid):
        console.print(line, soft_wrap=True)
    if not grid.runs:
        return
    left = seconds_left(grid, folder, done)
    time = "unknown until one is done" if left is None else duration(left) if left else "none"
    console.print(
        f"{len(done)} of {len(grid.runs)} runs done in {folder}; time left: {time}",
        markup=False,
        soft_wrap=True,
    )


def _score(finished: FinishedRun) -> Text:
    return Text(f"{finished.result.scores[finished.task.decisive]:.2f}", style="green")


def _summary(finished: FinishedRun) -> str:
    scores = finished.task.progress(finished.result.scores)
    return f"{scores}, {duration(finished.result.seconds)}"


def show_trial(trial: TrialReport) -> None:
    values = ", ".join(f"{name}={_brief(value)}" for name, value in trial.values.items())
    result = "stopped early" if trial.pruned else ""
    result = f"failed ({trial.failed})" if trial.failed else result
    result = f"{trial.score:.2f}" if trial.score is not None else result
    result = f"invalid recipe ({trial.refused})" if trial.refused else result
    CONSOLE.print(
        f"trial {trial.number} of {trial.of}: {values}{': ' if result else ''}{result}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def _brief(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
