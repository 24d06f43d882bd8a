"""A table file: what is compared, from which recipe, with which seeds, and the paper's figures."""

import re
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    StrictFloat,
    ValidationError,
    model_validator,
)

from readlet.errors import ReadletError, bad_input
from readlet.evaluation.classification import CLASS_METRICS, CLASSES, VALUES, class_task
from readlet.evaluation.squad import SPANS
from readlet.evaluation.task import Task
from readlet.recipe.recipe import SEED_LIMIT
from readlet.storage.stored_files import nearest, read_toml, shipped_files

_TWO = ("0", "1")
TASKS: dict[str, Task] = {
    task.name: task for task in (SPANS, *CLASSES.values(), VALUES, class_task(_TWO, CLASS_METRICS))
}
"""The named tasks, and one with classes."""
LABELS: dict[str, str] = {
    metric.name: metric.label for task in TASKS.values() for metric in task.metrics
}
"""Labels of the metrics in reports; metrics with the same name have the same label."""
_OF_CLASSES = re.compile(r"(\d{1,6}) classes: (.+)")


@cache
def task_named(name: str) -> Task | None:
    """The task of a stored run; None if there is none of this name.

    It has the metrics of the run, but not the names of its classes: only the classifier knows them.
    """
    if name in TASKS:
        return TASKS[name]
    found = _OF_CLASSES.fullmatch(name)
    metrics = found[2].split(", ") if found else []
    if not found or not {*metrics} <= {*CLASS_METRICS}:
        return None
    return class_task([str(number) for number in range(int(found[1]))], metrics)


Changes = dict[str, Any]
"""Part of a recipe, nested as in its TOML: `{"training": {"ema": 0.0}}`."""
Choices = dict[str, Changes]


def _is_count_or_list(value: Any) -> Any:
    numbers, least = (value, 0) if isinstance(value, list) else ([value], 1)
    whole = all(type(n) is int and least <= n < SEED_LIMIT for n in numbers)  # a bool is not a seed
    if not numbers or not whole or len(set(numbers)) < len(numbers):
        allowed = f"a positive number, or a list of different ones from 0 to {SEED_LIMIT - 1}"
        raise ValueError(f"must be {allowed}; it is {value!r:.60}")
    return value


def _is_metric(name: str) -> str:
    if name not in LABELS:
        raise ValueError(f"no such metric; it is {name!r:.60}, choose from {', '.join(LABELS)}")
    return name


Metric = Annotated[str, AfterValidator(_is_metric)]
"""Any metric of any task."""
Seeds = Annotated[int | list[int], BeforeValidator(_is_count_or_list)]


Combine = Literal["each", "all"] | Annotated[list[list[str]], Field(min_length=1)]


class _Part(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False
    )


class Small(_Part):
    """The same comparison on the bundled corpus; it runs on any machine in minutes."""

    recipe: str = "tiny"
    seeds: Seeds = 1
    set: Changes = {}
    """Changes for every run; they replace those of the table."""
    axes: dict[str, Choices] = {}
    """Axes that replace those of the same name; likewise the note, the combinations, the baseline
    and the pairs below."""
    note: str = ""
    combine: Combine | None = None
    baseline: str = ""
    compare: list[tuple[str, str]] = []


class Table(_Part):
    """A comparison, as described in a table file."""

    name: Annotated[str, Field(pattern=r"^\w[\w.-]*$")]
    """Name of the folder of its runs."""
    title: str
    """Title of the table, on one line."""
    source: str = ""
    """The paper and table that it reproduces."""
    note: str = ""
    """Explanation for the readers of the table."""
    recipe: str
    """The recipe that the axes change."""
    combine: Combine = "each"
    """`each`: the first choices, then every other choice on its own; `all`: every combination; or
    lists of choices, one per axis."""
    baseline: str = ""
    """Name of the row of first choices if `combine` is "each"; by default the name of the choice if
    there is one axis, and "baseline" if there are several."""
    seeds: Seeds = 2
    """Number of seeds, counted from 0, or a list of seeds."""
    metrics: Annotated[list[Metric], Field(min_length=1)] = [
        "exact",
        "f1",
    ]
    """Columns of the table; all of them are tested."""
    set: Changes = {}
    axes: Annotated[dict[str, Choices], Field(min_length=1)]
    paper: dict[str, dict[Metric, StrictFloat]] = {}
    """Results of the paper: row, metric, value."""
    compare: list[tuple[str, str]] = []
    """Pairs of rows to compare; empty: every row against the first."""
    small: Small | None = None
    _file: str = PrivateAttr("")

    @property
    def recipe_source(self) -> str:
        """Its recipe: a shipped one, or a file, looked up in the folder of the table too."""
        beside = Path(self._file).parent / self.recipe
        return str(beside) if beside.is_file() else self.recipe

    @property
    def label(self) -> str:
        """Its name in error messages: the file, if it was read from one."""
        return self._file or self.name

    @model_validator(mode="after")
    def _axes_have_choices(self) -> "Table":
        small = self.small.axes if self.small is not None else {}
        for name, choices in (*self.axes.items(), *small.items()):
            if not choices:
                raise ValueError(f"axes.{name} has no choice")
            if not all(map(str.strip, choices)):
                raise ValueError(f"axes.{name} has a choice without a name")
        if self.small is not None:
            for name in self.small.axes:
                if name not in self.axes:
                    raise ValueError(f"small.axes.{name}: the table has no such axis")
        return self

    def smaller(self) -> "Table":
        """The small variant of this table, for the bundled corpus."""
        small = self.small
        if small is None:
            raise bad_input(self.label, "", "has no small variant", "run it without --small")
        own = {name: value for name, value in small if value or name in ("seeds", "set")}
        changes = {
            "name": f"{self.name}-small",
            "title": f"{self.title} (small variant: bundled corpus)",
            "axes": self.axes | small.axes,
            "paper": {},
        }
        return self.model_copy(update=own | changes)


def shipped_tables() -> list[str]:
    """Names of the tables that come with the package."""
    return list(shipped_files("experiments", "tables"))


def load_table(source: str) -> Table:
    """A table by shipped name or file."""
    shipped = shipped_files("experiments", "tables")
    try:
        table = Table.model_validate(read_toml(source, shipped, "table"))
    except ValidationError as error:
        raise _table_error(error, source) from None
    table._file = source
    return table


def _table_error(error: ValidationError, source: str) -> ReadletError:
    first = error.errors()[0]
    path = [str(part) for part in first["loc"]]
    fault, _, remedy = first["msg"].removeprefix("Value error, ").partition("; ")
    if path[:1] == ["combine"]:
        path, remedy = path[:1], 'give "each", "all", or lists of choices'
    elif first["type"] == "extra_forbidden":
        fault = "no such field"
        part = Small if path[0] == "small" and len(path) > 1 else Table
        remedy = nearest(path[-1], part.model_fields, "fields here")
    elif first["type"] == "missing":
        fault, remedy = "is missing", "add it"
    elif not remedy:
        # The message about a whole section already names the values.
        is_section = isinstance(first["input"], dict)
        remedy = "change that" if is_section else f"it is {first['input']!r:.60}"
    return bad_input(source, ".".join(path), fault, remedy)
