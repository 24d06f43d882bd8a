"""From a table to its runs: every combination with every seed, each identified by its key."""

import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from readlet.data.datasets import training_file
from readlet.errors import bad_input
from readlet.experiments.spec import Changes, Table, load_table
from readlet.inference.trained_model import BUNDLED, reader_files
from readlet.models.recipe_files import (
    apply_change,
    changed_values,
    check_fields,
    kind_in,
    load_recipe,
    merge,
    parse_recipe,
)
from readlet.recipe.recipe import Recipe, fields_with, names_in
from readlet.storage.files import open_bytes
from readlet.storage.sections import SourceEncoder, SourceFile, SourceReader
from readlet.storage.stored_files import nearest
from readlet.text.pretrained import encoder_digest

_SEPARATOR = " / "
_BASELINE = "baseline"


@dataclass(frozen=True)
class Row:
    """A line of the table: one choice of every axis."""

    name: str
    changes: Changes


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


_MOST_ROWS = 10_000


@dataclass(frozen=True)
class Grid:
    """An expanded table: its rows in order, the runs that can be made, and the comparisons."""

    table: Table
    rows: list[Row]
    runs: list[Run]
    comparisons: list[tuple[str, str]]

    def of_row(self, name: str) -> list[Run]:
        return [run for run in self.runs if run.row == name]


def expand(
    table: Table,
    *,
    folders: Sequence[Path] = (),
    only: Sequence[str] = (),
    seeds: int | None = None,
    changes: Sequence[str] = (),
) -> Grid:
    """All rows and runs, checked before any run starts.

    Data files are looked up in `folders`; `only` selects rows (the fields of the others are still
    checked), `seeds` changes their number, and `changes` (section.field=value) apply to every run.
    """
    numbers = _seeds(table, seeds)
    rows = list(itertools.islice(_rows(table), _MOST_ROWS + 1))
    if len(rows) > _MOST_ROWS:  # twelve choices on seven axes would fill the memory
        raise bad_input(table.label, "axes", f"more than {_MOST_ROWS:,} rows", "use fewer choices")
    names = [row.name for row in rows]
    for name in (*only, *itertools.chain(*table.compare), *table.paper):
        if name not in names:
            raise bad_input(table.label, name, "no such row", nearest(name, names, "rows"))
    if repeated := [name for name, count in Counter(names).items() if count > 1]:
        fault = f"several rows have the name {repeated[0]!r}"
        raise bad_input(table.label, "axes", fault, "rename a choice, or `baseline`")
    base = load_recipe(table.recipe_source)
    _check_parts(table, rows, base)
    rows = [row for row in rows if row.name in only or not only]
    runs = []
    for row, seed in itertools.product(rows, numbers):
        recipe = _recipe(table, base, row, seed, folders, changes)
        runs.append(Run(row.name, seed, recipe, run_key(recipe)))
    _reject_duplicate_runs(table, runs)
    kept = [row.name for row in rows]
    comparisons = [pair for pair in table.compare if {*pair} <= {*kept}]
    if not table.compare:
        comparisons = [(name, kept[0]) for name in kept[1:]]
    return Grid(table, rows, runs, comparisons)


def plan(
    source: str,
    *,
    small: bool,
    out: Path | None,
    folders: Sequence[Path],
    only: Sequence[str] = (),
    seeds: int | None = None,
    changes: Sequence[str] = (),
) -> tuple[Grid, Path]:
    """From the arguments of a command to the checked grid and the folder of its runs."""
    for folder in folders:
        if not folder.is_dir():
            raise bad_input(folder, "--data", "no such folder", "give the folder of the data files")
    table = load_table(source)
    if small:
        table = table.smaller()
    beside = [Path(source).parent] if Path(source).is_file() else []
    folders = [*folders, *beside]
    grid = expand(table, folders=folders, only=only, seeds=seeds, changes=changes)
    return grid, out or Path("runs") / table.name


def _check_parts(table: Table, rows: Sequence[Row], base: Recipe) -> None:
    """Check all rows, selected or not, part by part, so that an error names the faulty part."""
    kind = kind_in(table.set, base.model.kind)
    parts = [(_row_label(table, row), row.changes) for row in rows]
    for label, part in ((f"{table.label}, set", table.set), *parts):
        training = part.get("training")
        if isinstance(training, dict) and "seed" in training:
            fault = "the table sets the seeds"
            raise bad_input(label, "training.seed", fault, "set `seeds` instead")
        check_fields(part, label, kind=kind)


def _row_label(table: Table, row: Row) -> str:
    return f"{table.label}, row {row.name!r}"


def _seeds(table: Table, wanted: int | None) -> list[int]:
    """The first `wanted` of the table's seeds; a table that gives a number can have more."""
    if isinstance(table.seeds, int):
        return list(range(table.seeds if wanted is None else wanted))
    if wanted is not None and wanted > len(table.seeds):
        fault = f"the table lists {len(table.seeds)} seeds, not {wanted}"
        raise bad_input(table.label, "--seeds", fault, "use fewer")
    return table.seeds[:wanted]


def _rows(table: Table) -> Iterator[Row]:
    axes = list(table.axes.values())
    for picked in _combinations(table):
        chosen = [choices[name] for choices, name in zip(axes, picked, strict=True)]
        changes: Changes = {}
        for change in chosen:
            merge(changes, change)
        yield Row(_name(table, picked), changes)


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
            raise bad_input(table.label, "combine", fault, "give one per axis, in order")
        for name, names in zip(picked, axes, strict=True):
            if name not in names:
                remedy = f"it has {', '.join(names)}"
                raise bad_input(table.label, "combine", f"no choice {name!r}", remedy)
    return table.combine


def _name(table: Table, picked: Sequence[str]) -> str:
    if table.combine != "each":
        return _SEPARATOR.join(picked)
    first = _first_choices(table)
    changed = [name for name, default in zip(picked, first, strict=True) if name != default]
    default_name = first[0] if len(first) == 1 else _BASELINE
    return _SEPARATOR.join(changed) or table.baseline or default_name


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
    """The recipe of a run. A row of another kind of model keeps the data and training of the base.

    It keeps only the fields that the base sets: the defaults of one kind do not apply to another.
    """
    wanted: Changes = {}
    for change in changes:
        if change.replace(" ", "").startswith("training.seed="):
            raise bad_input("--set", "training.seed", "the table sets the seeds", "use --seeds")
        apply_change(wanted, change)
    values = base.model_dump(exclude_unset=True)
    for part in (table.set, row.changes, wanted):
        values = changed_values(values, part)
    merge(values, {"name": table.name, "training": {"seed": seed}})
    return resolve_files(parse_recipe(values, _row_label(table, row)), folders)


def resolve_files(recipe: Recipe, folders: Sequence[Path]) -> Recipe:
    """The recipe with every file looked up in the folders, in order, then in the current one."""

    def resolve(name: str) -> str:
        if not name or ":" in name:
            return name
        return next((str(f / name) for f in folders if (f / name).exists()), name)

    found: dict[str, dict[str, Any]] = {}
    for section, field, _, value in fields_with(recipe, SourceFile, SourceReader):
        path = resolve(value) if isinstance(value, str) else tuple(map(resolve, value))
        if path != value:
            found.setdefault(section, {})[field] = path
    return recipe.model_copy(
        update={
            section: getattr(recipe, section).model_copy(update=paths)
            for section, paths in found.items()
        }
    )


def _reject_duplicate_runs(table: Table, runs: Iterable[Run]) -> None:
    seen: dict[str, Run] = {}
    for run in runs:
        duplicate = seen.setdefault(run.key, run)
        if duplicate is not run:
            fault = f"{run.label!r} and {duplicate.label!r} are the same run"
            raise bad_input(table.label, "", fault, "change one of them, or leave it out")


# --- keys of runs ---------------------------------------------------------------------------------


def run_key(recipe: Recipe) -> str:
    """A hash of everything that determines a run: recipe, seed, and the content of its files.

    The paths of the files do not matter, nor does the version of the program: runs of other
    versions count, and the report says so.
    """
    values = recipe.model_dump(mode="json")
    del values["name"]
    for section, field, _, value in fields_with(recipe, SourceFile, SourceReader):
        if field in values[section]:
            values[section][field] = list(map(_digest, names_in(value)))
    for section, field, _, value in fields_with(recipe, SourceEncoder):
        # A start reader brings its own.
        own = "" if recipe.training.start else encoder_digest(value)
        values[section][field] = own
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


def _digest(source: str) -> str:
    """Digest of the content of a file, or of the files of a reader."""
    path = training_file(source)
    if path.is_file():
        return _digest_of_file(path)
    if source == BUNDLED or path.is_dir():
        digests = [_digest_of_file(file) for file in reader_files(source)]
        return hashlib.sha256("".join(digests).encode()).hexdigest()
    raise bad_input(source, "", "no such file", "give its folder with --data")


def _digest_of_file(path: Path) -> str:
    stat = path.stat()
    return _content(path, stat.st_size, stat.st_mtime_ns)


@cache
def _content(path: Path, _size: int, _changed: int) -> str:
    """Digest of the decompressed content: the compression does not matter."""
    with open_bytes(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
