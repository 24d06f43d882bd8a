"""`readlet train`: from a recipe to a reader."""

from pathlib import Path
from typing import Annotated

import typer

from readlet.cli.console import console
from readlet.errors import ReadletError


def _show_fields(context: typer.Context, wanted: bool) -> None:
    if wanted:
        from readlet.cli.recipe_view import show_fields
        from readlet.recipe.kinds import DEFAULT_KIND

        show_fields(context.params["kind"] or DEFAULT_KIND)
        raise typer.Exit


def train(
    recipe: Annotated[str, typer.Argument(help="A TOML file, or the name of a shipped recipe.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the reader.", show_default="runs/NAME")
    ] = None,
    changes: Annotated[
        list[str],
        typer.Option(
            "--set", metavar="FIELD=VALUE", help="training.epochs=3, ...; --fields explains them."
        ),
    ] = [],  # noqa: B006  typer copies it
    resume: Annotated[bool, typer.Option("--resume", help="Go on where it stopped.")] = False,
    fields: Annotated[
        bool,
        typer.Option(
            "--fields",
            callback=_show_fields,  # before a recipe is missed, but after --kind
            help="Print every field of a recipe with its default and what it means.",
        ),
    ] = False,
    kind: Annotated[
        str | None,
        typer.Option(
            is_eager=True,
            show_default="qacnn",
            help="With --fields: the kind of model whose recipes are explained.",
        ),
    ] = None,
) -> None:
    """Train a reader, calibrate it, score it, and save it with its model card.

    Ctrl-C leaves a state that --resume continues. Several processes: accelerate launch -m readlet
    train ...
    """
    from readlet.recipe.recipe_files import load_recipe

    if kind is not None:
        raise ReadletError("--kind goes with --fields; to train a kind: --set model.kind=KIND")
    chosen = load_recipe(recipe, changes)
    folder = out or _usual_folder(chosen.name)

    from readlet.fitting.train import train_reader  # heavy: only after the recipe is right
    from readlet.training.processes import is_main_process

    reader = train_reader(chosen, folder, resume=resume)
    if not is_main_process():
        return
    scores = reader.metrics["dev"]
    console.print(
        f"EM {scores['exact']:.2f}, F1 {scores['f1']:.2f} on {reader.metrics['dev_source']}; "
        f"the reader is in {folder}",
        soft_wrap=True,  # a path that can be copied
        markup=False,
    )


def _usual_folder(name: str) -> Path:
    if name in ("", ".", "..") or Path(name).name != name:  # it would lie elsewhere
        raise ReadletError(f"name {name!r} cannot be that of a folder; name the folder with --out")
    return Path("runs") / name
