"""`readlet inspect`: where an answer comes from."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from readlet.cli.answers import show_prediction, show_question
from readlet.cli.options import Device, Encoding, Overwrite
from readlet.console import console, print_json

if TYPE_CHECKING:
    from readlet.inference.inspection import Inspection


def inspect(
    reader: Annotated[str, typer.Argument(help="Folder of the reader, or `bundled`.")],
    question: Annotated[str, typer.Argument(help="The question, in quotes.")],
    passage: Annotated[
        str, typer.Argument(metavar="PASSAGE", help="A text file, or - for standard input.")
    ],
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the scores into this file: .png or .svg."),
    ] = None,
    overwrite: Overwrite = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the scores of all tokens, as one JSON object.")
    ] = False,
    encoding: Encoding = "",
    device: Device = "auto",
) -> None:
    """Show where an answer comes from: scores of start and end.

    --save draws them, and for a reader that mixes layers how much each counts for each token.
    """
    from readlet.inference.document_files import read_document
    from readlet.inference.inspection import (
        check_picture,
        inspect_answer,
        inspectable_reader,
        save_picture,
    )
    from readlet.inference.trained_model import BASELINE, reader_folder

    if save is not None:
        inputs = [Path(passage), *([reader_folder(reader)] if reader != BASELINE else [])]
        check_picture(save, inputs, overwrite=overwrite)
    text = read_document(passage, encoding).text
    found = inspect_answer(inspectable_reader(reader, device=device), question, text)
    if as_json:
        print_json(found.as_json())
    else:
        _show(found)
    if save is not None:
        save_picture(found, save)


def _show(found: "Inspection") -> None:
    """Print the answer, its scores and those of "no answer"."""
    show_question(found.question)
    show_prediction(found.prediction)
    start, end = found.answer_scores
    where = f" (window {found.window:,} of {found.windows:,})" if found.windows > 1 else ""
    console.print(f"best answer  {start:.2f} + {end:.2f} = {start + end:.2f}{where}")
    if found.null is not None:
        start, end = found.null
        console.print(f"no answer    {start:.2f} + {end:.2f} = {start + end:.2f}")
    console.print("--save draws the scores of all tokens, --json lists them", style="dim")
