"""`readlet predict`: a reader's predictions for a file of questions."""

from pathlib import Path
from typing import Annotated

import typer

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
from readlet.console import console


def predict(
    reader: Annotated[
        str, typer.Argument(help="The reader to use: a folder, `bundled` or `baseline`.")
    ],
    data: Annotated[str, typer.Argument(help="Questions with their contexts, labelled or not.")],
    out: Annotated[
        Path,
        typer.Option(
            help="File for the predictions: .csv or .jsonl with all fields, .json for SQuAD's "
            'format {"id": "answer", ...}; each also with .gz.'
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
    threshold: Threshold = None,
    unanswerable_share: UnanswerableShare = None,
    always_answer: AlwaysAnswer = False,
    language: Language = "",
    question_language: QuestionLanguage = "",
    column: ColumnPairs = [],  # noqa: B006  typer copies it
    encoding: Encoding = "",
    device: Device = "auto",
    batch_size: Annotated[
        int | None,
        typer.Option(min=1, help="Passages read at once.", show_default="suits the device"),
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write a reader's predictions for a file of any size.

    If it is interrupted, even by SIGKILL, the same command continues where it stopped.
    """
    from readlet.data.columns import DataFormat
    from readlet.inference.inputs import AnswerOptions
    from readlet.inference.predict_file import predict_file

    made = predict_file(
        reader,
        data,
        out,
        na_probs=na_probs,
        n_best=n_best,
        options=AnswerOptions(
            threshold=threshold,
            unanswerable_share=unanswerable_share,
            always_answer=always_answer,
            language=language,
            question_language=question_language,
        ),
        data_format=DataFormat.parse(column, encoding),
        device=device,
        batch_size=batch_size or 0,
        overwrite=overwrite,
    )
    line = f"{out}: {made.questions:,} predictions, {made.abstained:,} of them without an answer"
    if made.unknown_language:
        line += f", {made.unknown_language:,} in a language that the reader was not trained on"
    console.print(line, markup=False, soft_wrap=True)  # so that the path can be copied
