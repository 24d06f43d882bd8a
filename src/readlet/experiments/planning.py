"""From the words of a command to a grid and the folder of its runs."""

from collections.abc import Sequence
from pathlib import Path

from readlet.errors import bad_input
from readlet.experiments.grid import Grid, expand
from readlet.experiments.store import known_sources
from readlet.experiments.table import load_table


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
) -> tuple[Grid, Path]:
    """The grid of a table, all of it checked, and where its runs lie.

    What is `only_finished` can be told without the data: the runs know what they were made from.
    """
    for folder in folders:
        if not folder.is_dir():
            raise bad_input(folder, "--data", "no such folder", "name the folder of the data files")
    table = load_table(source)
    if table.missing:
        raise bad_input(source, "", f"needs {table.missing}", "run another table meanwhile")
    if small:
        table = table.smaller()
    beside = [Path(source).parent] if Path(source).is_file() else []
    place = out or Path("runs") / table.name
    known = known_sources(place) if only_finished else {}
    folders = [*folders, *beside]
    grid = expand(table, folders=folders, only=only, seeds=seeds, changes=changes, known=known)
    if not grid.runs:
        missing = next(row.missing for row in grid.rows if row.missing)
        raise bad_input(source, "", f"needs {missing}", "choose other rows")
    return grid, place
