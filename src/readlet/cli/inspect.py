"""`readlet inspect`: where an answer comes from."""

from pathlib import Path
from typing import Annotated

import typer

from readlet.cli.console import console, print_json
from readlet.cli.options import Device, Encoding, Overwrite
from readlet.cli.threads import use_free_cores


def inspect(
    reader: Annotated[str, typer.Argument(help="Folder of the reader, or `bundled`.")],
    question: Annotated[str, typer.Argument(help="The question, in quotes.")],
    passage: Annotated[
        str, typer.Argument(metavar="PASSAGE", help="A text file, or - for standard input.")
    ],
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw it into this file, too: .png or .svg."),
    ] = None,
    overwrite: Overwrite = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    encoding: Encoding = "",
    device: Device = "auto",
) -> None:
    """Show where an answer comes from: the scores of start, end and "no answer".

    An encoder reader also shows how much each of its layers counts for each token, and what it adds
    to the scores. All other readers show the likeliest words.
    """
    from readlet.cli.inspect_view import show_inspection
    from readlet.errors import ReadletError
    from readlet.inference.document_files import read_document
    from readlet.inference.inspection import inspect_answer, inspectable_reader
    from readlet.inference.inspection_plot import check_picture, save_picture
    from readlet.inference.model_folder import BASELINE, reader_folder

    if save is not None:
        inputs = [Path(passage), *([reader_folder(reader)] if reader != BASELINE else [])]
        check_picture(save, inputs, overwrite=overwrite)
    text = read_document(passage, encoding)
    if not question.strip():
        raise ReadletError("the question is empty; it needs text")
    use_free_cores(reader)
    found = inspect_answer(inspectable_reader(reader, device=device), question, text)
    if as_json:
        print_json(found.as_json())
    else:
        show_inspection(found)
    if save is not None:
        save_picture(found, save)
        if not as_json:
            console.print(f"saved {save}", markup=False, soft_wrap=True)
