"""`readlet push`: a model to the Hugging Face hub."""

from typing import Annotated

import typer

from readlet.console import console, say


def push(
    folder: Annotated[str, typer.Argument(help="Folder of the reader or classifier.")],
    name: Annotated[str, typer.Argument(metavar="USER/NAME", help="Its name on the hub.")],
    licence: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Its licence, as the hub names it: mit, apache-2.0, cc-by-sa-4.0."
        ),
    ] = "",
    private: Annotated[
        bool, typer.Option("--private", help="Make a new repository private.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be sent, and stop.")
    ] = False,
) -> None:
    """Publish a model on the Hugging Face hub.

    There it can be used as USER/NAME.

    It needs a token with write access: hf auth login, or HF_TOKEN.
    """
    from readlet.inference.publish import publish

    made = publish(folder, name, licence=licence, private=private, dry_run=dry_run)
    for file, size in made.files.items():
        shown = f"{size / 1e6:10.2f} MB" if size >= 1e5 else f"{size / 1e3:10.2f} KB"
        console.print(f"{shown}  {file}", markup=False, soft_wrap=True)
    if made.needs_torch:
        say(f"no ONNX model: it needs torch; `readlet export {folder} --out OUT` makes one")
    if dry_run:
        front = made.card.partition("\n---\n")[0]
        console.print(f"\n{front}\n---", markup=False, highlight=False, soft_wrap=True)
    else:
        console.print(made.url, markup=False, soft_wrap=True)
