"""`readlet predict`: a reader's predictions for a file of questions."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from readlet.cli.many_files import Format, Ray, many_files, show_summary
from readlet.cli.options import (
    ColumnPairs,
    Device,
    Encoding,
    Language,
    MinConfidence,
    Overwrite,
    QuestionLanguage,
    UnanswerableShare,
)
from readlet.console import console
from readlet.errors import ReadletError


def predict(
    reader: Annotated[
        str, typer.Argument(help="The reader to use: a folder, `bundled` or `baseline`.")
    ],
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA...",
            help="Questions with their contexts, labelled or not: a file, or a folder, a pattern "
            "in quotes or a URL (s3://, gs://) for many.",
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            help="File for the predictions: .csv, .jsonl or .parquet with all fields, .json for "
            'SQuAD\'s format {"id": "answer", ...}; text also with .gz; .labelstudio.json or '
            ".doccano.jsonl for tasks of labelling tools. Of many files: a folder."
        ),
    ],
    na_probs: Annotated[
        Path | None,
        typer.Option(help='Also write no-answer probabilities to this file: {"id": 0.3, ...}.'),
    ] = None,
    n_best: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Also write the N best answers to each question."),
    ] = 0,
    min_confidence: MinConfidence = "balanced",
    unanswerable_share: UnanswerableShare = None,
    language: Language = "",
    question_language: QuestionLanguage = "",
    column: ColumnPairs = [],  # noqa: B006  typer copies it
    encoding: Encoding = "",
    device: Device = "auto",
    batch_size: Annotated[
        int | None,
        typer.Option(min=1, help="Passages per batch.", show_default="suits the device"),
    ] = None,
    overwrite: Overwrite = False,
    ray: Ray = "",
    kind: Format = "jsonl",
) -> None:
    """Write a reader's predictions for files of any size.

    If it is interrupted, even by SIGKILL, the same command continues where it stopped.
    """
    from readlet.data.columns import DataFormat
    from readlet.inference.inputs import AnswerOptions
    from readlet.inference.predict_file import predict_file

    options = AnswerOptions.parse(
        min_confidence,
        unanswerable_share=unanswerable_share,
        language=language,
        question_language=question_language,
    )
    data_format = DataFormat.parse(column, encoding)
    of_one = {"--na-probs": na_probs, "--overwrite": overwrite}
    if files := many_files(data, out, ray, kind, data_format, of_one):
        from readlet.cluster.commands import predict_files

        found = predict_files(
            reader,
            files,
            options=options,
            n_best=n_best,
            device=device,
            batch_size=batch_size or 0,
        )
        show_summary(found, out, _counts(**found.counts))
        return
    if len(data) > 1:
        raise ReadletError("DATA: several files; put a pattern in quotes, or name their folder")
    made = predict_file(
        reader,
        data[0],
        Path(out),
        na_probs=na_probs,
        n_best=n_best,
        options=options,
        data_format=data_format,
        device=device,
        batch_size=batch_size or 0,
        overwrite=overwrite,
    )
    line = f"{out}: {_counts(**asdict(made))}"
    console.print(line, markup=False, soft_wrap=True)  # so that the path can be copied


def _counts(questions: int = 0, abstained: int = 0, unknown_language: int = 0) -> str:
    text = f"{questions:,} predictions, {abstained:,} of them without an answer"
    if unknown_language:
        text += f", {unknown_language:,} in a language that the reader was not trained on"
    return text
