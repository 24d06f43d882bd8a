"""From a table to its runs: every combination with every seed, each known by its key."""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from readlet.errors import ReadletError, bad_input
from readlet.experiments.keys import Digests, run_key
from readlet.experiments.table import MISSING, Changes, Table
from readlet.recipe.kinds import kind_in
from readlet.recipe.recipe import Recipe
from readlet.recipe.recipe_files import (
    apply_change,
    changed_values,
    check_fields,
    load_recipe,
    merge,
    parse_recipe,
)
from readlet.recipe.traits import SourceFile, SourceReader, fields_with
from readlet.storage.toml_files import nearest

_SEPARATOR = " / "
_BASELINE = "baseline"


@dataclass(frozen=True)
class Row:
    """A line of the table: one choice of every axis."""

    name: str
    changes: Changes
    missing: str = ""  # the part without which it cannot be run


@dataclass(frozen=True)
class Run:
    """One training of one row."""

    row: str
    seed: int
    recipe: Recipe
    key: str

    @property
    def label(self) -> str:
        return f"{self.row}, seed {self.seed}"


@dataclass(frozen=True)
class Grid:
    """All of a table: its rows in order, the runs that can be made, and what is compared."""

    table: Table
    rows: list[Row]
    runs: list[Run]
    comparisons: list[tuple[str, str]]
    folders: Sequence[Path] = ()  # where data files are looked up

    def of_row(self, name: str) -> list[Run]:
        return [run for run in self.runs if run.row == name]


def expand(
    table: Table,
    *,
    folders: Sequence[Path] = (),
    only: Sequence[str] = (),
    seeds: int | None = None,
    changes: Sequence[str] = (),
    known: Digests | None = None,
) -> Grid:
    """All rows and runs, checked before any is begun.

    Data files are looked up in `folders`; `only` keeps some rows (others are still checked and
    shown), `seeds` changes how many there are, and `changes` (section.field=value) apply to every
    run. Files that are not on this machine may be `known` by their name.
    """
    rows = list(_rows(table))
    for name in (*only, *itertools.chain(*table.compare), *table.paper):
        if name not in {row.name for row in rows}:
            raise bad_input(table.told_as, name, "no such row", _nearest(name, table, rows))
    _refuse_namesakes(table, rows)
    base = load_recipe(table.recipe)
    _check_parts(table, rows, base)
    runs, others = [], []
    for row, seed in itertools.product(rows, _seeds(table, seeds)):
        if row.missing:
            continue
        recipe = _recipe(table, base, row, seed, folders, changes)
        if not only or row.name in only:
            runs.append(Run(row.name, seed, recipe, run_key(recipe, known)))
        elif not changes:  # which may make twins of rows that nobody wants
            with suppress(ReadletError):  # its files need not be here
                others.append(Run(row.name, seed, recipe, run_key(recipe, known)))
    _refuse_twins(table, [*runs, *others])
    comparisons = table.compare or [(row.name, rows[0].name) for row in rows[1:]]
    return Grid(table, rows, runs, comparisons, folders)


def _check_parts(table: Table, rows: Sequence[Row], base: Recipe) -> None:
    """All rows, chosen or not, each part on its own: so a complaint says whose fault it is."""
    kind = kind_in(table.set, base.model.kind)
    parts = [(_row_told(table, row), row.changes) for row in rows]
    for told, part in ((f"{table.told_as}, set", table.set), *parts):
        training = part.get("training")
        if isinstance(training, dict) and "seed" in training:
            raise bad_input(told, "training.seed", "belongs to the table", "set `seeds` instead")
        check_fields(part, told, kind=kind)


def _row_told(table: Table, row: Row) -> str:
    return f"{table.told_as}, row {row.name!r}"


def _seeds(table: Table, wanted: int | None) -> list[int]:
    """The first `wanted` of the table's seeds; a table that counts them can have more."""
    if isinstance(table.seeds, int):
        return list(range(table.seeds if wanted is None else wanted))
    if wanted is not None and wanted > len(table.seeds):
        fault = f"the table lists {len(table.seeds)} seeds, not {wanted}"
        raise bad_input(table.told_as, "--seeds", fault, "ask for fewer")
    return table.seeds[:wanted]


def _rows(table: Table) -> Iterator[Row]:
    axes = list(table.axes.values())
    for picked in _combinations(table):
        chosen = [choices[name] for choices, name in zip(axes, picked, strict=True)]
        missing = table.missing or next((c[MISSING] for c in chosen if MISSING in c), "")
        changes: Changes = {}
        for change in chosen:
            merge(changes, {key: value for key, value in change.items() if key != MISSING})
        yield Row(_name(table, picked), changes, missing)


def _combinations(table: Table) -> Iterable[Sequence[str]]:
    axes = [list(choices) for choices in table.axes.values()]
    if table.combine == "all":
        return itertools.product(*axes)
    if table.combine == "each":
        first = _first_choices(table)
        return [
            first,
            *(
                [*first[:number], name, *first[number + 1 :]]
                for number, names in enumerate(axes)
                for name in names[1:]
            ),
        ]
    for picked in table.combine:
        if len(picked) != len(axes):
            fault = f"{len(picked)} choices for {len(axes)} axes"
            raise bad_input(table.told_as, "combine", fault, "give one of each axis, in order")
        for name, names in zip(picked, axes, strict=True):
            if name not in names:
                remedy = f"it has {', '.join(names)}"
                raise bad_input(table.told_as, "combine", f"no choice {name!r}", remedy)
    return table.combine


def _name(table: Table, picked: Sequence[str]) -> str:
    if table.combine != "each":
        return _SEPARATOR.join(picked)
    first = _first_choices(table)
    changed = [name for name, usual in zip(picked, first, strict=True) if name != usual]
    usual_name = first[0] if len(first) == 1 else _BASELINE
    return _SEPARATOR.join(changed) or table.baseline or usual_name


def _first_choices(table: Table) -> list[str]:
    return [next(iter(choices)) for choices in table.axes.values()]


def _recipe(
    table: Table,
    base: Recipe,
    row: Row,
    seed: int,
    folders: Sequence[Path],
    changes: Sequence[str],
) -> Recipe:
    """The recipe of a run. A row of another kind of model shares data and training with the base.

    But only what the base sets: a default of its kind says nothing about another kind.
    """
    wanted: Changes = {}
    for change in changes:
        if change.replace(" ", "").startswith("training.seed="):
            raise bad_input("--set", "training.seed", "belongs to the table", "use --seeds")
        apply_change(wanted, change)
    values = base.model_dump(exclude_unset=True)
    for part in (table.set, row.changes, wanted):
        values = changed_values(values, part)
    merge(values, {"name": table.name, "training": {"seed": seed}})
    return look_up(parse_recipe(values, _row_told(table, row)), folders)


def look_up(recipe: Recipe, folders: Sequence[Path]) -> Recipe:
    """The recipe with every file looked up in the folders, in their order; then here."""

    def look(name: str) -> str:
        if not name or ":" in name:
            return name
        return next((str(f / name) for f in folders if (f / name).exists()), name)

    found: dict[str, dict[str, Any]] = {}
    for section, field, _, value in fields_with(recipe, SourceFile, SourceReader):
        place = look(value) if isinstance(value, str) else tuple(map(look, value))
        if place != value:
            found.setdefault(section, {})[field] = place
    return recipe.model_copy(
        update={
            section: getattr(recipe, section).model_copy(update=places)
            for section, places in found.items()
        }
    )


def _refuse_namesakes(table: Table, rows: Sequence[Row]) -> None:
    names = Counter(row.name for row in rows)
    for name, count in names.items():
        if count > 1:
            fault = f"{count} rows are called {name!r}"
            raise bad_input(table.told_as, "axes", fault, "rename a choice, or `baseline`")


def _refuse_twins(table: Table, runs: Iterable[Run]) -> None:
    seen: dict[str, Run] = {}
    for run in runs:
        twin = seen.setdefault(run.key, run)
        if twin is not run:
            fault = f"{run.label!r} and {twin.label!r} are the same run"
            raise bad_input(table.told_as, "", fault, "change one of them, or leave it out")


def _nearest(name: str, table: Table, rows: Sequence[Row]) -> str:
    names = [row.name for row in rows]
    if table.combine == "each" and name in (_BASELINE, *_first_choices(table)):
        return f"did you mean {names[0]!r}, the row of first choices?"
    return nearest(name, names, "rows")
