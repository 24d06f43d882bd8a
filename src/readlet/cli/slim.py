"""`readlet slim`: a smaller copy of a reader."""

from pathlib import Path
from typing import Annotated

import typer

from readlet.console import console


def slim(
    reader: Annotated[
        str, typer.Argument(help="Folder of the reader or classifier, or `bundled`.")
    ],
    out: Annotated[Path, typer.Option(help="Folder of the slim reader.")],
    max_mb: Annotated[
        float | None,
        typer.Option(
            help="Maximum size of the reader in megabytes (10^6 bytes).",
            show_default="12 for a reader with word vectors, else no limit",
        ),
    ] = None,
    int8: Annotated[
        bool,
        typer.Option("--int8", help="Store matrices in eight bits, which halves the size again."),
    ] = False,
) -> None:
    """Write a smaller copy of a reader.

    Weights are in half precision. Of a reader with word vectors, as many frequent words are kept
    as fit; one without, such as one on an encoder, is only rounded. With --int8 it has a quarter
    of its size, and an ONNX model beside its weights, so that it answers without torch.
    """
    from readlet.export.beside_weights import add_onnx_model, has_onnx_form
    from readlet.inference.slimming import MEGABYTE, slim_folder

    made = slim_folder(reader, out, max_megabytes=max_mb, int8=int8)
    if int8 and has_onnx_form(out):
        add_onnx_model(out)
    for name, count, stored, size in (
        (reader, made.words_before, made.stored_before, made.bytes_before),
        (str(out), made.words, made.stored, made.bytes),
    ):
        what = f"weights in {stored}" if count is None else f"{count:,} words with frozen vectors"
        line = f"{name}: {what}, {size / MEGABYTE:.2f} MB"
        console.print(line, markup=False, soft_wrap=True)  # so that the path can be copied
