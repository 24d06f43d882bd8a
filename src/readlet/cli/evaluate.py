"""`readlet evaluate`: official scores of a reader or of a file of predictions."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.table import Table
from rich.text import Text

from readlet.cli.options import (
    ColumnPairs,
    Device,
    Encoding,
    Language,
    MinConfidence,
    QuestionLanguage,
    UnanswerableShare,
)
from readlet.console import console, print_json
from readlet.errors import ReadletError
from readlet.evaluation.squad import SPANS
from readlet.evaluation.statistics import calibration_error
from readlet.inference.inputs import DEFAULTS, AnswerOptions

if TYPE_CHECKING:
    from readlet.evaluation.evaluation import Evaluation
    from readlet.evaluation.task import Task

_MISSING_SHOWN = 5
_CONFUSION_SHOWN = 8  # classes in a table; --json has any number


def evaluate(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="[READER] DATA",
            help="A reader (a folder, `bundled` or `baseline`) or a classifier, and a data file. "
            "With --predictions: only the data file.",
        ),
    ],
    predictions: Annotated[
        Path | None,
        typer.Option(
            help='Score these predictions instead of a reader: {"id": "answer", ...}, or rows '
            "(.csv, .jsonl) of `readlet predict` or `readlet classify`."
        ),
    ] = None,
    na_probs: Annotated[
        Path | None, typer.Option(help='No-answer probabilities: {"id": 0.3, ...}.')
    ] = None,
    na_threshold: Annotated[
        float | None,
        typer.Option("--threshold", help="With --na-probs: abstain above this probability."),
    ] = None,
    min_confidence: MinConfidence = "balanced",
    unanswerable_share: UnanswerableShare = None,
    against: Annotated[
        Path | None,
        typer.Option(help="Predictions of another model, for a paired comparison."),
    ] = None,
    rules: Annotated[
        Literal["1.1", "2.0"] | None,
        typer.Option(
            help="Rules of the official script.", show_default="2.0 if any question is unanswerable"
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    language: Language = "",
    question_language: QuestionLanguage = "",
    column: ColumnPairs = [],  # noqa: B006  typer copies it
    encoding: Encoding = "",
    device: Device = "auto",
) -> None:
    """Score a reader, a classifier, or a file of predictions.

    The scores are exactly those of the official scripts. GLUE files are scored by the metrics
    of their task, a classifier by those of its recipe. Exit code 1: predictions are missing.
    """
    from readlet.data.columns import DataFormat
    from readlet.data.datasets import content_of, task_of
    from readlet.inference import evaluate_files as files
    from readlet.inference.trained_model import stored_task

    reader = targets[0] if len(targets) > 1 else None
    if len(targets) > 2 or (reader is None) == (predictions is None):
        raise ReadletError("give READER DATA, or --predictions FILE DATA")
    if device != "auto" and reader is None:
        raise ReadletError("--device: not with a file of predictions; leave it out")
    data, data_format = targets[-1], DataFormat.parse(column, encoding)
    options = AnswerOptions.parse(
        min_confidence,
        unanswerable_share=unanswerable_share,
        language=language,
        question_language=question_language,
    )
    of_questions = {
        "--na-probs": na_probs is not None,
        "--threshold": na_threshold is not None,
        "--rules": rules is not None,
        "options of a reader": options != DEFAULTS,
    }
    found: Any
    show: Callable[[Any], None]
    if reader is not None and stored_task(reader) == "classes":
        _reject_options(reader, "a classifier", of_questions)
        found = files.evaluate_classifier(
            reader, data, against=against, device=device, data_format=data_format
        )
        show = _show_classes
    elif (task := task_of(data, data_format)) or (
        predictions is not None and content_of(data, data_format) == "texts"
    ):
        _reject_options(data, "texts with labels", of_questions)
        if predictions is None:
            raise ReadletError(f"{data}: texts with labels; give --predictions, or a classifier")
        found = files.evaluate_sentences(
            data, task, predictions, against=against, data_format=data_format
        )
        show = _show_classes
    else:
        found = files.evaluate_questions(
            data,
            reader=reader,
            predictions=predictions,
            na_probs=na_probs,
            na_threshold=na_threshold,
            against=against,
            options=options,
            rules=rules,
            data_format=data_format,
            device=device,
        )
        show = show_evaluation
    if as_json:
        print_json(found.as_json())
    else:
        show(found)
    raise typer.Exit(int(bool(found.missing)))


def _reject_options(source: str, what: str, options: dict[str, bool]) -> None:
    """Reject options that would have no effect here."""
    given = [option for option, is_given in options.items() if is_given]
    if given:
        raise ReadletError(f"{source}: {what}; omit {', '.join(given)}")


def show_evaluation(evaluation: "Evaluation") -> None:
    official = evaluation.official
    table = _question_table()
    for prefix, label in (("", "all"), ("HasAns_", "with answer"), ("NoAns_", "without answer")):
        if f"{prefix}total" in official:
            scores = (f"{official[prefix + key]:.2f}" for key in SPANS.headline)
            table.add_row(label, f"{official[f'{prefix}total']:,}", *scores)
    bounds = (evaluation.intervals[name] for name in SPANS.headline)
    table.add_row("95% interval", "", *(f"{low:.2f}–{high:.2f}" for low, high in bounds))
    console.print(table)
    if "best_f1" in official and "NoAns_total" in official:
        # Rounded up: it is the probability of the last question that is answered.
        exact, f1 = (
            math.ceil(official[f"best_{name}_thresh"] * 1e4) / 1e4 for name in ("exact", "f1")
        )
        console.print(
            f"best threshold: EM {official['best_exact']:.2f} at {exact:.4f}, "
            f"F1 {official['best_f1']:.2f} at {f1:.4f}"
        )
    if evaluation.reliability is not None:
        console.print(f"expected calibration error: {evaluation.calibration_error:.3f}")
    if evaluation.no_answer_reliability is not None:
        error = calibration_error(evaluation.no_answer_reliability)
        console.print(f"expected calibration error of the no-answer probability: {error:.3f}")
    if evaluation.no_answer_area is not None:
        console.print(f"no-answer probability, ROC area: {evaluation.no_answer_area:.3f}")
    for group, rows in evaluation.breakdown.items():
        _show_group(group, rows)
    if evaluation.against is not None:
        _show_comparison(SPANS, evaluation.against)
    _show_missing(evaluation.missing)


def _show_classes(evaluation: "Evaluation") -> None:
    task, official = evaluation.task, evaluation.official
    table = Table(box=None)
    title = task.name.partition(":")[0]  # its metrics are in the rows
    for name in (title, "score", "95% interval"):
        table.add_column(name, justify="left" if name == title else "right")
    for metric in task.metrics:
        low, high = evaluation.intervals[metric.name]
        table.add_row(metric.label, f"{official[metric.name]:.2f}", f"{low:.2f} to {high:.2f}")
    console.print(table)
    console.print(f"{official['total']:,} {task.noun}")
    for name in ("spearman", "mean_squared_error"):
        if name in official:
            console.print(f"{name.replace('_', ' ')}: {official[name]:.4g}")
    if evaluation.confusion is not None and len(evaluation.confusion) <= _CONFUSION_SHOWN:
        _show_confusion(evaluation.confusion)
    if evaluation.reliability is not None:
        console.print(f"expected calibration error: {evaluation.calibration_error:.3f}")
    if evaluation.against is not None:
        _show_comparison(task, evaluation.against)
    _show_missing(evaluation.missing)


def _question_table(title: str | None = None) -> Table:
    table = Table(box=None, title=title, title_justify="left")
    for name in ("", SPANS.noun, *(SPANS.metric(name).label for name in SPANS.headline)):
        table.add_column(name, justify="left" if not name else "right")
    return table


def _show_group(group: str, rows: dict[str, dict[str, float]]) -> None:
    table = _question_table(f"by {group}")
    for name, row in rows.items():
        scores = (f"{row[key]:.1f}" for key in SPANS.headline)
        table.add_row(name, f"{row['total']:,}", *scores)
    console.print(table)


def _show_confusion(confusion: dict[str, dict[str, int]]) -> None:
    """Labels in rows, predictions in columns."""
    console.print("labels in rows, and how often they were predicted as")
    table = Table(box=None)
    for name in ("", *confusion):
        table.add_column(Text(f"{name:.20}"), justify="right" if name else "left")
    for label, row in confusion.items():
        table.add_row(Text(f"{label:.20}"), *(f"{count:,}" for count in row.values()))
    console.print(table)


def _show_comparison(task: "Task", against: dict[str, float]) -> None:
    for key in task.headline:
        label = task.metric(key).label
        console.print(
            f"against the other predictions: {label} {against[f'{key}_difference']:+.2f} "
            f"({against[key]:.2f} there), p = {against[f'{key}_p']:.4f}",
            soft_wrap=True,
        )
    if against["missing"]:
        line = f"{against['missing']} of the other predictions are missing (counted as wrong)"
        console.print(line, style="red")


def _show_missing(missing: list[str]) -> None:
    if missing:
        some = ", ".join(missing[:_MISSING_SHOWN])
        more = ", ..." if len(missing) > _MISSING_SHOWN else ""
        # Ids are not markup: they may contain brackets.
        line = f"{len(missing)} predictions are missing (counted as wrong): {some}{more}"
        console.print(line, style="red", markup=False)
