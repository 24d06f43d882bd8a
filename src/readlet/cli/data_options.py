"""Options about data files that several commands share: the same name and help text everywhere."""

from typing import Annotated

import typer

ColumnPairs = Annotated[
    list[str],
    typer.Option(
        "--column", metavar="FIELD=NAME", help="Name of the column for a field; repeatable."
    ),
]
Encoding = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Text encoding of the data, such as cp1252 or latin-1.",
        show_default="UTF-8; UTF-16 with a byte order mark",
    ),
]
