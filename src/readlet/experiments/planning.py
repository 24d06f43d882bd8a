"""From the arguments of a command to a grid and the folder of its runs."""

from collections.abc import Callable, Sequence
from pathlib import Path

from readlet.errors import bad_input
from readlet.experiments.grid import Grid, expand
from readlet.experiments.store import known_sources, results_in
from readlet.experiments.table import Table, load_table


def plan(
    source: str,
    *,
    small: bool,
    out: Path | None,
    folders: Sequence[Path],
    only: Sequence[str] = (),
    seeds: int | None = None,
    changes: Sequence[str] = (),
    only_finished: bool = False,
    only_shown: bool = False,
    check: Callable[[Table, Path], object] | None = None,
) -> tuple[Grid, Path]:
    """The checked grid of a table, and the folder of its runs.

    With `only_finished` the data files are not needed: finished runs store their digests. With
    `only_shown` a part that every run needs may be missing. `check` gets the table and the folder
    before any data file is read, to check the outputs.
    """
    for folder in folders:
        if not folder.is_dir():
            raise bad_input(folder, "--data", "no such folder", "give the folder of the data files")
    table = load_table(source)
    if small:
        table = table.smaller()
    table_folder = [Path(source).parent] if Path(source).is_file() else []
    place = out or Path("runs") / table.name
    if check is not None:
        check(table, place)
    known = known_sources(results_in(place)) if only_finished else {}
    folders = [*folders, *table_folder]
    grid = expand(table, folders=folders, only=only, seeds=seeds, changes=changes, known=known)
    if not grid.runs and not only_shown:
        missing = next(row.missing for row in grid.rows if not only or row.name in only)
        others = any(not row.missing for row in grid.rows)
        remedy = "select other rows" if others else "run another table"
        raise bad_input(source, "", f"needs {missing}", remedy)
    return grid, place
