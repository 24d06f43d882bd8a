"""Options that several commands share: the same name and help text everywhere."""

from typing import Annotated

import typer

Device = Annotated[
    str,
    typer.Option(
        metavar="DEVICE",
        help="Where the reader computes: cpu, cuda, cuda:1, mps; auto: a GPU when there is one.",
    ),
]
MinConfidence = Annotated[
    str,
    typer.Option(
        metavar="LEVEL",
        help="How sure the reader must be to answer rather than abstain: always, balanced, strict, "
        "or a number from 0 to 1.",
    ),
]
UnanswerableShare = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Share of the questions that you expect to have no answer, such as 0.5; 0: all have "
        "one.",
        show_default="that of the reader's calibration",
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace files that exist.")]
ColumnPairs = Annotated[
    list[str],
    typer.Option(
        "--column", metavar="FIELD=NAME", help="Name of the column for a field; repeatable."
    ),
]
Language = Annotated[
    str,
    typer.Option(
        metavar="CODE",
        help="Language of the passages, such as es, where the data names none.",
        show_default="guessed",
    ),
]
QuestionLanguage = Annotated[
    str,
    typer.Option(
        metavar="CODE", help="Language of the question.", show_default="guessed, or the passage's"
    ),
]
Encoding = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Text encoding of the files, such as cp1252 or latin-1.",
        show_default="UTF-8; UTF-16 with a byte order mark",
    ),
]
