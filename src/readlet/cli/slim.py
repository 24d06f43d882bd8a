"""`readlet slim`: a smaller copy of a reader."""

from pathlib import Path
from typing import Annotated

import typer

from readlet.cli.console import console
from readlet.cli.options import Device


def slim(
    reader: Annotated[str, typer.Argument(help="Folder of the reader, or `bundled`.")],
    out: Annotated[Path, typer.Option(help="Folder of the slim reader.")],
    max_mb: Annotated[
        float | None,
        typer.Option(
            help="Maximum size of the reader in megabytes (10^6 bytes).", show_default="12"
        ),
    ] = None,
    words: Annotated[
        int | None, typer.Option(help="Number of word vectors to keep, instead of --max-mb.")
    ] = None,
    dev: Annotated[
        str,
        typer.Option(
            metavar="DATA", help="Score the slim reader on this data, for its model card."
        ),
    ] = "",
    notice: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Licences and authors of its data, for its model card."),
    ] = None,
    device: Device = "auto",
) -> None:
    """Write a smaller copy of a reader: frequent words only, weights in half precision."""
    from readlet.reading.slimming import MEGABYTE, slim_folder

    if max_mb is None and words is None:
        max_mb = 12.0
    made = slim_folder(
        reader, out, words=words, max_megabytes=max_mb, dev=dev, notice=notice, device=device
    )
    for name, count, size in (
        (reader, made.words_before, made.bytes_before),
        (str(out), made.words, made.bytes),
    ):
        line = f"{name}: {count:,} words with frozen vectors, {size / MEGABYTE:.2f} MB"
        console.print(line, markup=False, soft_wrap=True)  # so that the path can be copied
