"""`readlet export`: a trained model as an ONNX model."""

from pathlib import Path
from typing import Annotated

import typer

from readlet.console import console


def export(
    reader: Annotated[
        str, typer.Argument(help="Folder of the reader or classifier, or `bundled`.")
    ],
    out: Annotated[Path, typer.Option(help="Folder of the exported model.")],
    int8: Annotated[
        bool, typer.Option("--int8", help="Round its matrices to 8 bits: a smaller file.")
    ] = False,
) -> None:
    """Write a model in ONNX: it runs without torch.

    It loads faster. Its scores are first compared with those of torch. All commands accept its
    folder.
    """
    from readlet.export.export_folder import export_folder

    made = export_folder(reader, out, int8=int8)
    lines = [
        f"{out}: {made.bytes / 1e6:.2f} MB in {'int8' if int8 else 'float32'}",
        f"scores of the ONNX model and of torch differ by at most {made.difference:.1g}",
    ]
    if int8:
        lines[-1] += " before rounding; `readlet evaluate` tells what rounding costs"
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)
