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
