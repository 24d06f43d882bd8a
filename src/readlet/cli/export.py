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
    dev: Annotated[
        str,
        typer.Option(metavar="DATA", help="Score the model before and after; --int8 needs it."),
    ] = "",
) -> None:
    """Write a model in ONNX: it runs without torch.

    It loads faster. Its scores are first compared with those of torch. All commands accept its
    folder.
    """
    from readlet.export.export_folder import export_folder

    made = export_folder(reader, out, int8=int8, dev=dev)
    lines = [
        f"{out}: {made.bytes / 1e6:.2f} MB in {'int8' if int8 else 'float32'}",
        f"scores of the ONNX model and of torch differ by at most {made.difference:.1g}",
    ]
    if dev:
        lines += [
            f"{dev}, before: {made.task.progress(made.before)}",
            f"{dev}, after:  {made.task.progress(made.after)}",
        ]
        for name in made.task.headline:
            gain = made.after[name] - made.before[name]
            lines.append(f"change of {made.task.metric(name).label}: {gain:+.2f}")
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)
