"""`readlet experiment`: run a table of variants, report the results."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from readlet.console import console, say

if TYPE_CHECKING:
    from readlet.experiments.grid import Grid

app = typer.Typer(
    help="Compare variants of a recipe: many runs, one report.",
    no_args_is_help=True,
)

_Table = Annotated[str, typer.Argument(help="A TOML file, or the name of a built-in table.")]
_Out = Annotated[
    Path | None, typer.Option(help="Folder of the runs.", show_default="runs/NAME-OF-TABLE")
]
_Data = Annotated[
    list[Path],
    typer.Option("--data", metavar="FOLDER", help="Folder to search for data files; repeatable."),
]
_Small = Annotated[
    bool, typer.Option("--small", help="Use the table's small variant on the bundled corpus.")
]
_Changes = Annotated[
    list[str],
    typer.Option(
        "--set", metavar="FIELD=VALUE", help="Set a recipe field in every run; repeatable."
    ),
]
_Only = Annotated[
    list[str],
    typer.Option("--only", metavar="ROW", help="Only this row; repeatable."),
]
_Seeds = Annotated[int | None, typer.Option(min=1, help="Number of seeds, starting at 0.")]


@app.command("list")
def list_tables() -> None:
    """List the tables that come with the package."""
    from readlet.experiments.spec import load_table, shipped_tables

    for name in shipped_tables():
        table = load_table(name)
        console.print(f"{name:<26} {table.title}", markup=False, soft_wrap=True)


@app.command("run")
def run(
    table: _Table,
    out: _Out = None,
    data: _Data = [],  # noqa: B006  typer copies it
    only: _Only = [],  # noqa: B006
    seeds: _Seeds = None,
    changes: _Changes = [],  # noqa: B006
    small: _Small = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the planned runs and stop.")
    ] = False,
    keep_readers: Annotated[
        bool, typer.Option("--keep-readers", help="Also keep the trained readers.")
    ] = False,
    ray: Annotated[
        str,
        typer.Option(
            metavar="WHERE",
            help="Train runs at once by Ray, one for each GPU or two cores: `local` on this "
            "machine, `auto` on the cluster it belongs to.",
            show_default="one run after the other",
        ),
    ] = "",
) -> None:
    """Run the missing runs. Interrupted ones resume where they stopped."""
    from readlet.experiments.grid import plan

    grid, folder = plan(
        table, small=small, out=out, folders=data, only=only, seeds=seeds, changes=changes
    )
    if dry_run:
        _show_plan(grid, folder)
    elif ray:
        from readlet.cluster.run_grid import run_grid_by_actors

        run_grid_by_actors(grid, folder, ray=ray, keep_readers=keep_readers)
    else:
        from readlet.experiments.runner import run_grid

        run_grid(grid, folder, keep_readers=keep_readers)


def _show_plan(grid: "Grid", folder: Path) -> None:
    """Print every row with the number of its finished runs."""
    from readlet.experiments.store import find_finished

    done, damaged = find_finished(grid, folder)
    for fault in damaged:
        say(fault)
    for row in grid.rows:
        runs = grid.of_row(row.name)
        finished = sum(run.key in done for run in runs)
        line = f"{row.name}: {finished} of {len(runs)} runs done"
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    count = f"{len(done)} of {len(grid.runs)} runs done in {folder}"
    console.print(count, markup=False, soft_wrap=True)


@app.command("report")
def report(
    table: _Table,
    out: _Out = None,
    data: _Data = [],  # noqa: B006
    only: _Only = [],  # noqa: B006
    seeds: _Seeds = None,
    changes: _Changes = [],  # noqa: B006
    small: _Small = False,
    formats: Annotated[
        str, typer.Option("--format", help="Comma-separated list of md, html, json.")
    ] = "md",
    to: Annotated[
        Path | None,
        typer.Option(help="Folder of the report.", show_default="the folder of the runs"),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace files outside the folder of the runs.")
    ] = False,
) -> None:
    """Write a report: scores with deviations, significance tests and learning curves."""
    from readlet.experiments.formatting import check_report, write_report
    from readlet.experiments.grid import plan
    from readlet.experiments.report import report_on

    listed = formats.split(",")
    grid, folder = plan(
        table, small=small, out=out, folders=data, only=only, seeds=seeds, changes=changes
    )
    check_report(grid.table.name, to or folder, listed, overwrite=overwrite)
    written = write_report(
        report_on(grid, folder),
        to or folder,
        listed,
        command=shlex.join(["readlet", *sys.argv[1:]]),
        overwrite=overwrite,
    )
    for path in written:
        console.print(str(path), markup=False, soft_wrap=True)
