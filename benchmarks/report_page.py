"""The page of `reader_report.py`: Markdown tables with a few fixed sentences."""

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from error_kinds import ERROR_KINDS, WrongAnswer, count_kinds, sample_by_kind
from report_plots import LearningCurve, ScorePoint

from readlet.evaluation.evaluation import Evaluation
from readlet.models.recipe_files import load_recipe, shipped_recipes
from readlet.recipe.recipe import Recipe, changed_fields, fields_of, fields_with
from readlet.storage.sections import SourceReader

F1_LEVELS = (70, 75, 78, 80, 81, 82)
ERRORS_PER_KIND = 3
ANSWER_LETTERS = 60  # longest quotation of an answer: never a whole sentence of the passage
GOLDS_SHOWN = 3
_NUMBER = re.compile(r"(–|[\d.,]+( \(.*\))?)$")  # with an interval or a percentage

INTRODUCTION = """\
Scores of the readers below on the {questions:,} questions of `{data}`, and their training times. \
Exact match (EM) and F1 are the official ones, in percent. Brackets have 95 % bootstrap intervals \
over questions: they show the variation with other questions of the same kind, not with other \
seeds. The calibration error is the mean gap between a reader's confidence and its accuracy, from \
0 to 1.
"""
TIMES = """\
The first evaluation on dev at or above each F1; nothing is interpolated, so the resolution is \
the interval between two evaluations. The curves show the averaged weights.
"""
MINUTES = """\
Minutes since the start of the command, including reading the data, compilation and all \
evaluations.{machine}
"""
ERRORS = """\
Every answer that is not an exact match has one kind of error, determined by its position and form \
(`benchmarks/error_kinds.py`). Percentages are of all questions.
"""
SAMPLE = """\
Up to {count} of each kind, sampled at random (seed {seed}). Only ids and short answers are shown; \
`…` marks truncated text. Confidence is that of the reader, between 0 and 1.
"""
LICENCE = """\
Source of the ids, the gold answers and the predicted answers, which are excerpts of its passages: \
{source}. Long ones are truncated; the lists of wrong answers are shared under the same licence.
"""


@dataclass(frozen=True)
class Run:
    """A finished training run with everything that the page shows."""

    name: str
    recipe: Recipe
    parameters: int
    curve: LearningCurve
    answers: dict[str, str]
    whole: Evaluation
    groups: dict[str, dict[str, Evaluation]]
    wrong: list[WrongAnswer]

    @property
    def is_timed(self) -> bool:
        return bool(self.curve.scores) and all(p.seconds is not None for p in self.curve.scores)


def page(
    runs: Sequence[Run],
    *,
    name: str,
    data: str,
    questions: int,
    plots: Sequence[str],
    machine: str,
    source: str,
    seed: int,
    command: str,
    notes: str,
) -> str:
    """The whole page; `plots` are files in its folder, `command` reproduces it.

    `notes` are added unchanged at the end.
    """
    machine = f" Machine: {machine}." if machine else ""
    sections = [
        f"# {name}: results\n",
        INTRODUCTION.format(questions=questions, data=data),
        table(*scores_table(runs)),
        *comparison(runs),
        "## Learning\n",
        *(f"![{Path(plot).stem}]({plot})\n" for plot in plots),
        TIMES,
        *([MINUTES.format(machine=machine)] if any(run.is_timed for run in runs) else []),
        table(*times_table(runs)),
        *(part for group in runs[0].groups for part in group_section(group, runs)),
        "## Error analysis\n",
        ERRORS,
        table(*kinds_table(runs, questions)),
        SAMPLE.format(count=ERRORS_PER_KIND, seed=seed),
        *(part for run in runs for part in errors_section(run, seed)),
        LICENCE.format(source=source),
        "## How this was made\n",
        "The runs, in an order in which they can be trained:\n",
        code(training_command(run.name, run.recipe) for run in sorted(runs, key=needs_another)),
        "This page, from the folders of the runs:\n",
        code([command]),
        notes,
    ]
    return "\n".join(sections)


def scores_table(runs: Sequence[Run]) -> tuple[list[str], list[list[str]]]:
    head = ["", "parameters", "epochs", "minutes", "questions/s", "EM", "F1", "calibration error"]
    rows = []
    for run in runs:
        last = run.curve.scores[-1]
        speed = run.curve.examples_per_second
        rows.append(
            [
                cell(run.name),
                f"{run.parameters:,}",
                f"{last.epoch:.1f}",
                minutes(last.seconds),
                f"{speed:,.0f}" if speed else "",
                *interval_cells(run.whole, digits=2),
                f"{run.whole.calibration_error:.3f}",
            ]
        )
    return head, rows


def comparison(runs: Sequence[Run]) -> list[str]:
    """Differences from the first run, with p-values of a paired permutation test."""
    lines = [
        f"- {cell(run.name)} against {cell(runs[0].name)}: "
        f"EM {other['exact_difference']:+.2f} (p = {other['exact_p']:.4f}), "
        f"F1 {other['f1_difference']:+.2f} (p = {other['f1_p']:.4f}), "
        "by a paired permutation test"
        for run in runs
        if (other := run.whole.against) is not None
    ]
    return ["\n".join(lines) + "\n"] if lines else []


def times_table(runs: Sequence[Run]) -> tuple[list[str], list[list[str]]]:
    head = ["F1"]
    columns = []
    for run in runs:
        reached = [first_with(level, run.curve.scores) for level in F1_LEVELS]
        head.append(f"{cell(run.name)}: epoch")
        columns.append([f"{r.epoch:.1f}" if r else "–" for r in reached])
        if run.is_timed:
            head.append("minutes")
            columns.append([minutes(r.seconds) if r else "–" for r in reached])
    levels = [str(level) for level in F1_LEVELS]
    return head, [list(row) for row in zip(levels, *columns, strict=True)]


def first_with(f1: float, points: Sequence[ScorePoint]) -> ScorePoint | None:
    """The first evaluation with this score; nothing is interpolated between two."""
    return next((point for point in points if point.scores["f1"] >= f1), None)


def group_section(group: str, runs: Sequence[Run]) -> list[str]:
    head = [group, "questions"]
    head += [f"{cell(run.name)}: {score}" for run in runs for score in ("EM", "F1")]
    rows = []
    for name, first in runs[0].groups[group].items():
        scores = [text for run in runs for text in interval_cells(run.groups[group][name])]
        rows.append([name, f"{first.official['total']:,}", *scores])
    title = group.removesuffix(" words")
    by = f"## By {title}\n" if title == group else f"## By length of {title}\n"
    note = {"answer words": "Words of the shortest gold answer.\n"}.get(group)
    return [by, *([note] if note else []), table(head, rows)]


def kinds_table(runs: Sequence[Run], total: int) -> tuple[list[str], list[list[str]]]:
    counts = [count_kinds(run.wrong) for run in runs]
    rows = [
        [f"**{kind}**: {rule}", *(f"{c[kind]:,} ({100 * c[kind] / total:.1f} %)" for c in counts)]
        for kind, rule in ERROR_KINDS.items()
        if any(c[kind] for c in counts)
    ]
    return ["kind", *(cell(run.name) for run in runs)], rows


def errors_section(run: Run, seed: int) -> list[str]:
    rows = []
    for error in sample_by_kind(run.wrong, ERRORS_PER_KIND, seed=seed):
        golds = list(dict.fromkeys(shortened(gold.text) for gold in error.example.answers))
        more = " / …" if len(golds) > GOLDS_SHOWN else ""
        rows.append(
            [
                error.kind,
                cell(error.example.id),
                " / ".join(cell(gold) for gold in golds[:GOLDS_SHOWN]) + more or "*none*",
                cell(shortened(error.prediction.text)) or "*none*",
                f"{error.prediction.score:.2f}",
            ]
        )
    head = ["kind", "question", "gold answers", "prediction", "confidence"]
    return [f"### Wrong answers of {cell(run.name)}\n", table(head, rows)]


def needs_another(run: Run) -> bool:
    return bool(run.recipe.training.start or run.recipe.training.teacher)


def training_command(name: str, recipe: Recipe) -> str:
    """The command that repeats the run: the shipped recipe and its changes; files by name only."""
    if recipe.name not in shipped_recipes():
        return f"readlet train {shlex.quote(recipe.name)}.toml"
    changed = changed_fields(load_recipe(recipe.name).model_dump(mode="json"), recipe)
    # A start or a teacher is also a run; the folders of data files differ by machine.
    readers = {field.path for field in fields_with(recipe, SourceReader)}
    changes = [
        f"--set {shlex.quote(f'{path}={_as_toml(value, folder)}')}"
        for path, value, folder in (
            (field.path, field.value, "runs/" if field.path in readers else "")
            for field in fields_of(recipe)
        )
        if path in changed
    ]
    out = f"--out {shlex.quote(f'runs/{name}')}"
    return " ".join(["readlet train", recipe.name, *changes, out])


def _as_toml(value: object, folder: str) -> str:
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(_as_toml(part, folder) for part in value)}]"
    if isinstance(value, str):
        return f'"{folder}{Path(value).name}"'
    return str(value).lower() if isinstance(value, bool) else str(value)


# --- Markdown


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of numbers are right-aligned; empty columns are left out."""
    if not rows:
        return "None.\n"
    columns = [column for column in zip(head, *rows, strict=True) if any(column[1:])]
    rules = ["---:" if all(map(_NUMBER.match, column[1:])) else "---" for column in columns]
    named, *filled = zip(*columns, strict=True)
    return "\n".join(f"| {' | '.join(row)} |" for row in (named, rules, *filled)) + "\n"


def interval_cells(evaluation: Evaluation, digits: int = 1) -> list[str]:
    cells = []
    for key in ("exact", "f1"):
        low, high = (f"{bound:.{digits}f}" for bound in evaluation.intervals[key])
        cells.append(f"{evaluation.official[key]:.{digits}f} ({low}–{high})")
    return cells


def minutes(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds / 60:.1f}"


def shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= ANSWER_LETTERS else text[: ANSWER_LETTERS - 1].rstrip() + "…"


def cell(text: str) -> str:
    """Literal text inside a table: Markdown characters are escaped."""
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>|$~" else letter for letter in text)


def code(lines: Iterable[str]) -> str:
    return "\n".join(["```bash", *lines, "```", ""])
