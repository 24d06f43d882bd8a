"""Why a report finds no run: the fields in which the stored runs differ from those asked for."""

from collections.abc import Sequence
from pathlib import Path

from readlet.errors import ReadletError, bad_input
from readlet.experiments.grid import Grid, Run
from readlet.experiments.store import Result
from readlet.recipe.recipe_files import toml_value
from readlet.recipe.traits import changed_fields
from readlet.recipe.upgrade import upgrade

_FIELDS_SHOWN = 5


def nothing_found(
    grid: Grid, folder: Path, results: Sequence[Result], damaged: Sequence[str]
) -> ReadletError:
    """The error of a report without runs; `results` are all finished ones in the folder."""
    if damaged:
        others = f" (and {len(damaged) - 1} more)" if len(damaged) > 1 else ""
        fault = f"all finished runs are damaged: {damaged[0]}{others}"
        return ReadletError(f"{grid.table.name}: {fault}")
    if not folder.is_dir():
        remedy = "make some with `readlet experiment run`, or give their folder with --out"
        return bad_input(folder, "", "no such folder of runs", remedy)
    if not results:
        fault = "no finished run yet"
        return bad_input(folder, "", fault, "make some with `readlet experiment run`")
    fault = f"none of its {len(results):,} finished runs is one of {grid.table.name}"
    return bad_input(
        folder,
        "",
        f"{fault}; the nearest to {_difference(grid, results)}",
        "report with the --set, --small, --seeds, --data and --out of the runs",
    )


def _difference(grid: Grid, results: Sequence[Result]) -> str:
    """The row that is nearest to a stored run, and in which fields the two differ."""
    run, result = min(
        ((run, result) for run in grid.runs for result in results),
        key=lambda pair: len(_changed(*pair)),
    )
    changed = _changed(run, result)
    if not changed:
        return f"{run.label!r} was made with other contents of its files"
    there, here = upgrade(result.recipe), run.recipe.model_dump(mode="json")
    shown = [f"{f} ({_value(there, f)} there, {_value(here, f)} here)" for f in changed]
    more = f" and {len(shown) - _FIELDS_SHOWN} more" if len(shown) > _FIELDS_SHOWN else ""
    return f"{run.label!r} has another {', '.join(shown[:_FIELDS_SHOWN])}{more}"


def _changed(run: Run, result: Result) -> list[str]:
    return changed_fields(upgrade(result.recipe), run.recipe)


def _value(recipe: dict[str, dict[str, object]], field: str) -> str:
    section, name = field.split(".")
    return f"{toml_value(recipe.get(section, {}).get(name)):.60}"
