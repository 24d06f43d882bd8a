"""A table file: what is compared, from which recipe, with which seeds, and what a paper found.

name = "averaging"
title = "What averaging the weights is worth"
recipe = "qacnn"                      # shipped name, or a file beside this one
combine = "each"                      # the first choices, then every other choice alone
seeds = 2

[set]                                 # changes for every run, as in a recipe
training.epochs = 10

[axes.average]                        # named choices; the first one is the baseline's
"EMA" = {}
"no EMA" = { training.ema = 0.0 }

[paper."no EMA"]                      # a row's figures in the paper
f1 = 77.0
"""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    model_validator,
)

from readlet.errors import ReadletError, bad_input
from readlet.metrics.tasks import LABELS
from readlet.recipe.recipe import SEED_LIMIT
from readlet.storage.toml_files import nearest, read_toml, shipped_files

Changes = dict[str, Any]
"""Part of a recipe, nested as in its TOML: `{"training": {"ema": 0.0}}`."""
Choices = dict[str, Changes]
MISSING = "missing"
"""A choice with this key cannot be run yet; its text says which part is missing."""


def _all_different(values: list[Any]) -> list[Any]:
    for number, value in enumerate(values):
        if value in values[:number]:
            raise ValueError(f"{value!r} stands there twice; leave one out")
    return values


def _pairs_of_two(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Each counts in the correction for many tests, so none may be idle."""
    seen: set[frozenset[str]] = set()
    for first, second in pairs:
        if first == second:
            raise ValueError(f"{first!r} is compared with itself; name another row")
        if {first, second} in seen:
            raise ValueError(f"{first!r} and {second!r} are compared twice; leave one pair out")
        seen.add(frozenset((first, second)))
    return pairs


def _is_count_or_list(value: Any) -> Any:
    numbers, least = (value, 0) if isinstance(value, list) else ([value], 1)
    whole = all(type(n) is int and least <= n < SEED_LIMIT for n in numbers)  # True is no number
    if not numbers or not whole or len(set(numbers)) < len(numbers):
        allowed = f"a number from 1 on, or a list of different ones from 0 to {SEED_LIMIT - 1}"
        raise ValueError(f"must be {allowed}; it is {value!r:.60}")
    return value


def _is_metric(name: str) -> str:
    if name not in LABELS:
        raise ValueError(f"no such metric; it is {name!r:.60}, choose from {', '.join(LABELS)}")
    return name


Metric = Annotated[str, AfterValidator(_is_metric)]
"""Any metric of any task."""
Seeds = Annotated[int | list[int], BeforeValidator(_is_count_or_list)]


class _Part(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False
    )


class Range(_Part):
    """Values that a search may try for one field: numbers from low to high, or listed ones."""

    low: float | None = None
    high: float | None = None
    log: bool = False
    """Small and large numbers are tried equally often by their size, as fits a learning rate."""
    choices: list[Any] = []

    @model_validator(mode="after")
    def _is_one_kind(self) -> "Range":
        if bool(self.choices) == (self.low is not None and self.high is not None):
            raise ValueError("give either low and high, or choices")
        if not self.choices and not (self.low < self.high):  # type: ignore[operator]
            raise ValueError("low must be smaller than high")
        if self.log and not self.choices and self.low <= 0:  # type: ignore[operator]
            raise ValueError("a logarithmic range needs a low above 0")
        return self


class Search(_Part):
    """What `readlet experiment search` tries."""

    ranges: Annotated[dict[str, Range], Field(min_length=1)]
    """Field of the recipe, such as "training.learning_rate", and its range."""
    metric: Metric = "f1"
    """What is made as large as possible."""
    trials: Annotated[int, Field(ge=1)] = 20
    """Recipes to try."""
    on: Literal["held-out", "dev"] = "held-out"
    """Questions that decide. Whoever searches on dev has no honest score on dev any more."""
    prune: bool = True
    """Stop a trial early whose score is below the median of the others at that epoch."""


class Small(_Part):
    """The same comparison on the bundled corpus, so that it runs anywhere in minutes."""

    recipe: str = "tiny"
    seeds: Seeds = 1
    set: Changes = {}
    """Changes for every run, in place of the table's own."""
    axes: dict[str, Choices] = {}
    """Axes in place of those of the same name. Of a table that waits for a part they stand in for
    it, under names that say what they are; so do the note, the baseline and the pairs below."""
    note: str = ""
    baseline: str = ""
    compare: Annotated[list[tuple[str, str]], AfterValidator(_pairs_of_two)] = []


class Table(_Part):
    """A comparison, as its file tells it."""

    name: Annotated[str, Field(pattern=r"^\w[\w.-]*$")]
    """Name of the folder of its runs."""
    title: str
    """One line above the table."""
    source: str = ""
    """The paper and table that it repeats."""
    note: str = ""
    """What a reader of the table should know."""
    missing: str = ""
    """The part without which nothing of this table can be run."""
    recipe: str
    """The recipe that the axes change."""
    combine: Literal["each", "all"] | Annotated[list[list[str]], Field(min_length=1)] = "each"
    """`each`: the first choices, then every other choice alone; `all`: every combination; or
    lists of choices, one of each axis."""
    baseline: str = ""
    """Name of the row of first choices when `combine` is "each"; without it, that of the choice
    where there is one axis, and "baseline" where there are several."""
    seeds: Seeds = 2
    """How many seeds, from 0 on, or which ones."""
    metrics: Annotated[list[Metric], Field(min_length=1), AfterValidator(_all_different)] = [
        "exact",
        "f1",
    ]
    """Columns of the table; the first-named decides nothing, all are tested."""
    set: Changes = {}
    axes: Annotated[dict[str, Choices], Field(min_length=1)]
    paper: dict[str, dict[Metric, float]] = {}
    """Figures of the paper: row, metric, value."""
    compare: Annotated[list[tuple[str, str]], AfterValidator(_pairs_of_two)] = []
    """Rows that are tested against each other; empty: every row against the first."""
    small: Small | None = None
    search: Search | None = None
    _file: str = PrivateAttr("")

    @property
    def told_as(self) -> str:
        """What complaints call it: the file, if it was read from one."""
        return self._file or self.name

    @model_validator(mode="after")
    def _axes_have_choices(self) -> "Table":
        small = self.small.axes if self.small is not None else {}
        for name, choices in (*self.axes.items(), *small.items()):
            if not choices:
                raise ValueError(f"axes.{name} has no choice")
            for choice, changes in choices.items():
                if not choice.strip():
                    raise ValueError(f"axes.{name} has a choice without a name")
                if not isinstance(changes.get(MISSING, ""), str):
                    raise ValueError(f"axes.{name}, {choice!r}: missing must be a text")
        if self.small is not None:
            for name in self.small.axes:
                if name not in self.axes:
                    raise ValueError(f"small.axes.{name}: the table has no such axis")
        return self

    def smaller(self) -> "Table":
        """The variant for the bundled corpus, a table of its own."""
        small = self.small
        if small is None:
            remedy = "run another table meanwhile" if self.missing else "run it without --small"
            raise bad_input(self.told_as, "", "has no small variant", remedy)
        return self.model_copy(
            update={
                "name": f"{self.name}-small",
                "title": f"{self.title} (small variant: bundled corpus)",
                "recipe": small.recipe,
                "seeds": small.seeds,
                "set": small.set,
                "axes": self.axes | small.axes,
                "note": small.note or self.note,
                "baseline": small.baseline or self.baseline,
                "compare": small.compare or self.compare,
                "missing": "",
                "paper": {},
            }
        )


def shipped_tables() -> list[str]:
    """Names of the tables that come with the package."""
    return list(shipped_files("experiments", "tables"))


def load_table(source: str) -> Table:
    """A table by shipped name or file. A recipe it names as a file lies beside it."""
    shipped = shipped_files("experiments", "tables")
    try:
        table = Table.model_validate(read_toml(source, shipped, "table"))
    except ValidationError as error:
        raise _complaint(error, source) from None
    table._file = source
    return table if source in shipped else _with_files_beside(table, Path(source).parent)


def _with_files_beside(table: Table, folder: Path) -> Table:
    """Recipes named as files lie beside the table."""

    def look(recipe: str) -> str:
        return str(folder / recipe) if (folder / recipe).is_file() else recipe

    changed: dict[str, Any] = {"recipe": look(table.recipe)}
    if table.small is not None:
        small = {"recipe": look(table.small.recipe)}
        changed["small"] = table.small.model_copy(update=small)
    return table.model_copy(update=changed)


def _complaint(error: ValidationError, source: str) -> ReadletError:
    first = error.errors()[0]
    path = [str(part) for part in first["loc"]]
    fault, _, remedy = first["msg"].removeprefix("Value error, ").partition("; ")
    if path[:1] == ["combine"]:
        path, remedy = path[:1], 'give "each", "all", or lists of choices'
    elif first["type"] == "extra_forbidden":
        fault = "no such field"
        remedy = nearest(path[-1], _part_at(path[:-1]).model_fields, "fields here")
    elif first["type"] == "missing":
        fault, remedy = "is not given", "add it"
    elif not remedy:
        told = isinstance(first["input"], dict)
        remedy = "change that" if told else f"it is {first['input']!r:.60}"
    return bad_input(source, ".".join(path), fault, remedy)


def _part_at(path: list[str]) -> type[_Part]:
    if path[:2] == ["search", "ranges"]:
        return Range
    parts: dict[str, type[_Part]] = {"search": Search, "small": Small}
    return parts[path[0]] if path else Table
