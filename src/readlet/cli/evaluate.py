"""`readlet evaluate`: official scores of a reader or of a file of predictions."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from readlet.cli.console import print_json
from readlet.cli.options import (
    AlwaysAnswer,
    ColumnPairs,
    Device,
    Encoding,
    Language,
    Overwrite,
    QuestionLanguage,
    Threshold,
    UnanswerableShare,
)
from readlet.cli.threads import use_free_cores


def evaluate_command(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="[READER] DATA...",
            help="A reader (a folder, `bundled` or `baseline`) or a classifier, and a data file; "
            "of several files, one table. With --predictions: only the data file.",
        ),
    ],
    predictions: Annotated[
        Path | None,
        typer.Option(
            help='Score these predictions instead of a reader: {"id": "answer", ...}, or rows '
            "(.csv, .jsonl) of `readlet predict` or `readlet classify`."
        ),
    ] = None,
    always_answer: AlwaysAnswer = False,
    na_probs: Annotated[
        Path | None, typer.Option(help='No-answer probabilities: {"id": 0.3, ...}.')
    ] = None,
    threshold: Threshold = None,
    unanswerable_share: UnanswerableShare = None,
    against: Annotated[
        Path | None,
        typer.Option(
            help="Predictions of another model, for a paired comparison; or another classifier."
        ),
    ] = None,
    rules: Annotated[
        Literal["1.1", "2.0"] | None,
        typer.Option(
            help="Rules of the official script.", show_default="2.0 if any question is unanswerable"
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
    language: Language = "",
    question_language: QuestionLanguage = "",
    column: ColumnPairs = [],  # noqa: B006  typer copies it
    encoding: Encoding = "",
    device: Device = "auto",
) -> None:
    """Score a reader, a classifier, or a file of predictions, exactly as the official scripts do.

    GLUE files are scored by the metrics of their task, a classifier by those of its recipe.
    A reader on several files: a row for each, and one for all questions together; --json has the
    whole report of each. Exit code 1: predictions are missing.
    """
    from readlet.cli.evaluation_view import show_classes, show_evaluation, show_several
    from readlet.data.columns import DataFormat
    from readlet.data.datasets import content_of
    from readlet.data.sources import task_of
    from readlet.errors import ReadletError
    from readlet.inference.evaluate_questions import evaluate_questions, evaluate_several
    from readlet.inference.evaluate_texts import evaluate_classifier, evaluate_sentences
    from readlet.inference.trained_model import stored_task

    reader = targets[0] if len(targets) > 1 else None
    if (reader is None) == (predictions is None):
        raise ReadletError("give READER DATA, or --predictions FILE DATA")
    if save is not None and reader is None:
        raise ReadletError("--save-predictions needs a reader; give READER DATA")
    if device != "auto" and reader is None:
        raise ReadletError("--device: not with a file of predictions; leave it out")
    data, data_format = targets[-1], DataFormat.parse(column, encoding)
    how_to_answer: dict[str, Any] = {
        "threshold": threshold,
        "unanswerable_share": unanswerable_share,
        "always_answer": always_answer,
        "rules": rules,
        "language": language,
        "question_language": question_language,
        "device": device,
    }
    if reader is not None and len(targets) > 2:
        of_one = {
            "--na-probs": na_probs is not None,
            "--against": against is not None,
            "--save-predictions": save is not None,
            "--plot": plot is not None,
        }
        _refuse(f"{len(targets) - 1} data files", "these options are for one file", of_one)
        if stored_task(reader) == "classes":
            raise ReadletError(f"{reader}: a classifier; give one data file at a time")
        use_free_cores(reader)
        several = evaluate_several(reader, targets[1:], data_format=data_format, **how_to_answer)
        if as_json:
            print_json(several.as_json())
        else:
            show_several(several)
        return
    task = task_of(data, data_format)
    of_questions = {
        "--always-answer": always_answer,
        "--na-probs": na_probs is not None,
        "--threshold": threshold is not None,
        "--unanswerable-share": unanswerable_share is not None,
        "--language": bool(language or question_language),
        "--rules": rules is not None,
    }
    if reader is not None:
        use_free_cores(reader)
    if reader is not None and stored_task(reader) == "classes":
        _refuse(reader, "a classifier", of_questions)
        found = evaluate_classifier(
            reader,
            data,
            against=against,
            save=save,
            plot=plot,
            overwrite=overwrite,
            device=device,
            data_format=data_format,
        )
    elif task is not None or (predictions is not None and content_of(data, data_format) == "texts"):
        what = "a GLUE file" if task is not None else "a file of texts with labels"
        of_readers = {"--plot": plot is not None, "--device": device != "auto"}
        _refuse(data, what, of_questions | of_readers | {"--column": bool(column and task)})
        if predictions is None:
            raise ReadletError(f"{data}: {what}; give --predictions FILE, or a classifier")
        found = evaluate_sentences(
            data, task, predictions, against=against, data_format=data_format
        )
    else:
        evaluation = evaluate_questions(
            data,
            reader=reader,
            predictions=predictions,
            na_probs=na_probs,
            against=against,
            save=save,
            plot=plot,
            overwrite=overwrite,
            data_format=data_format,
            **how_to_answer,
        )
        if as_json:
            print_json(evaluation.as_json())
        else:
            show_evaluation(evaluation)
        raise typer.Exit(int(bool(evaluation.missing) and not allow_missing))
    if as_json:
        print_json(found.as_json())
    else:
        show_classes(found)
    raise typer.Exit(int(bool(found.missing) and not allow_missing))


def _refuse(source: str, what: str, options: dict[str, bool]) -> None:
    """Reject options that would have no effect here."""
    from readlet.errors import ReadletError

    given = [option for option, is_given in options.items() if is_given]
    if given:
        raise ReadletError(f"{source}: {what}; omit {', '.join(given)}")
