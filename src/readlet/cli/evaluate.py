"""`readlet evaluate`: official scores of a reader or of a file of predictions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from readlet.cli.console import print_json
from readlet.cli.options import AlwaysAnswer, ColumnPairs, Device, Encoding, Overwrite, Threshold
from readlet.cli.threads import use_free_cores

if TYPE_CHECKING:
    from readlet.formats.glue import Task


def evaluate_command(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="[READER] DATA",
            help="A reader (a folder, `bundled` or `baseline`) and a data file. "
            "With --predictions: only the data file.",
        ),
    ],
    predictions: Annotated[
        Path | None,
        typer.Option(
            help='Score these predictions instead of a reader: {"id": "answer", ...}, or rows '
            "(.csv, .jsonl) of `readlet predict`."
        ),
    ] = None,
    always_answer: AlwaysAnswer = False,
    na_probs: Annotated[
        Path | None, typer.Option(help='No-answer probabilities: {"id": 0.3, ...}.')
    ] = None,
    threshold: Threshold = None,
    against: Annotated[
        Path | None, typer.Option(help="Predictions of another model, for a paired comparison.")
    ] = None,
    rules: Annotated[
        Literal["1.1", "2.0"] | None,
        typer.Option(
            help="Rules of the official script.", show_default="2.0 if any question is impossible"
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save-predictions", help="Write the reader's predictions to this file."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw confidence against accuracy into this SVG file."),
    ] = None,
    overwrite: Overwrite = False,
    allow_missing: Annotated[
        bool, typer.Option(help="Exit with 0 even if predictions are missing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    column: ColumnPairs = [],  # noqa: B006  typer copies it
    encoding: Encoding = "",
    device: Device = "auto",
) -> None:
    """Score a reader, or a file of predictions, exactly as the official scripts do.

    GLUE files are scored by the metrics of their task.
    Exit code 1: predictions are missing.
    """
    from readlet.cli.evaluation_view import show_evaluation
    from readlet.errors import ReadletError
    from readlet.formats.columns import parse_columns
    from readlet.formats.sources import task_of
    from readlet.reading.evaluate_files import evaluate_questions

    reader = targets[0] if len(targets) == 2 else None
    if len(targets) > 2 or (reader is None) == (predictions is None):
        raise ReadletError("give READER DATA, or --predictions FILE DATA")
    if save is not None and reader is None:
        raise ReadletError("--save-predictions needs a reader; give READER DATA")
    data = targets[-1]
    task = task_of(data, encoding=encoding)
    if task is not None:
        question_options = {
            "--always-answer": always_answer,
            "--na-probs": na_probs is not None,
            "--threshold": threshold is not None,
            "--plot": plot is not None,
            "--rules": rules is not None,
            "--column": bool(column),
            "--device": device != "auto",
        }
        given = [option for option, is_given in question_options.items() if is_given]
        missing = _glue(data, task, predictions, against, given, as_json, encoding)
    else:
        if reader is not None:
            use_free_cores(reader)
        evaluation = evaluate_questions(
            data,
            reader=reader,
            always_answer=always_answer,
            predictions=predictions,
            na_probs=na_probs,
            threshold=threshold,
            against=against,
            rules=rules,
            save=save,
            plot=plot,
            overwrite=overwrite,
            columns=parse_columns(column),
            encoding=encoding,
            device=device,
        )
        missing = evaluation.missing
        if as_json:
            print_json(evaluation.as_json())
        else:
            show_evaluation(evaluation)
    raise typer.Exit(int(bool(missing) and not allow_missing))


def _glue(
    data: str,
    task: "Task",
    predictions: Path | None,
    against: Path | None,
    question_options: list[str],
    as_json: bool,
    encoding: str,
) -> list[str]:
    """Score a GLUE file and return the ids without prediction; reject options for questions."""
    from readlet.cli.evaluation_view import show_classes
    from readlet.errors import ReadletError
    from readlet.reading.evaluate_files import evaluate_sentences

    if predictions is None or question_options:
        omitted = f"omit {', '.join(question_options)}"
        remedy = omitted if question_options else "give --predictions FILE"
        raise ReadletError(f"{data}: a GLUE file; {remedy}")
    evaluation = evaluate_sentences(data, task, predictions, against=against, encoding=encoding)
    if as_json:
        print_json(evaluation.as_json())
    else:
        show_classes(evaluation)
    return evaluation.missing
