"""`readlet train`: train a reader or a classifier from a recipe."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from readlet.cli.options import ColumnPairs, Encoding
from readlet.console import console
from readlet.errors import ReadletError

if TYPE_CHECKING:
    from readlet.evaluation.task import Task

SIGNIFICANT = 0.05


def train(
    recipe: Annotated[
        str,
        typer.Argument(
            help="A TOML file, or the name of a built-in recipe; not needed with --fields.",
            show_default=False,
        ),
    ] = "",
    out: Annotated[
        Path | None, typer.Option(help="Folder for what is trained.", show_default="runs/NAME")
    ] = None,
    changes: Annotated[
        list[str],
        typer.Option(
            "--set",
            metavar="FIELD=VALUE",
            help="Set a recipe field, such as training.epochs=3; repeatable. See --fields.",
        ),
    ] = [],  # noqa: B006  typer copies it
    column: ColumnPairs = [],  # noqa: B006
    encoding: Encoding = "",
    resume: Annotated[bool, typer.Option("--resume", help="Resume an interrupted run.")] = False,
    track: Annotated[
        str,
        typer.Option(
            metavar="TRACKER",
            help="Send losses and scores to tensorboard, wandb, mlflow or trackio.",
            show_default=False,
        ),
    ] = "",
    fields: Annotated[
        bool,
        typer.Option(
            "--fields",
            help="Print all recipe fields with their defaults and descriptions.",
        ),
    ] = False,
    kind: Annotated[
        str | None,
        typer.Option(
            show_default="that of the recipe, or qacnn",
            help="With --fields: the kind of model whose fields are printed.",
        ),
    ] = None,
) -> None:
    """Train a reader or a classifier from a recipe.

    It is calibrated, scored, and saved with its model card. After Ctrl-C, --resume continues
    the run.
    To use several GPUs: accelerate launch -m readlet train ...
    """
    from readlet.data.columns import parse_columns
    from readlet.models.kinds import DEFAULT_KIND
    from readlet.models.recipe_files import load_recipe, shipped_recipes, toml_value

    if fields:
        _show_fields(kind or (load_recipe(recipe, changes).model.kind if recipe else DEFAULT_KIND))
        return
    if not recipe:
        built_in = ", ".join(shipped_recipes())
        raise ReadletError(f"no recipe; give a TOML file, or a built-in one: {built_in}")
    if kind is not None:
        raise ReadletError(
            "--kind needs --fields; to train another kind of model, use --set model.kind=KIND"
        )
    # Part of the recipe, so that the run can be repeated and resumed.
    if column:
        parse_columns(column)
        changes = [*changes, f"data.columns={toml_value(column)}"]
    if encoding:
        changes = [*changes, f"data.encoding={toml_value(encoding)}"]
    chosen = load_recipe(recipe, changes)
    folder = out or _default_folder(chosen.name)

    from readlet.engine.processes import is_main_process
    from readlet.training.train import train_reader  # slow import: only for a valid recipe

    model = train_reader(chosen, folder, resume=resume, track=track)
    if not is_main_process():
        return
    metrics, what = model.metrics, "reader" if model.kind_of_task == "spans" else "classifier"
    console.print(
        f"{model.task.progress(metrics['dev'])} on {metrics['dev_source']}; "
        f"the {what} is in {folder}",
        soft_wrap=True,  # so that the path can be copied
        markup=False,
    )
    if "kept_epoch" in metrics:
        _show_kept(metrics["kept_epoch"], metrics["best_epoch"])
    if "start" in metrics:
        _show_gain(model.task, metrics, chosen.training.start)


def _show_kept(kept: float, best: float) -> None:
    """Say which weights these are, and whether others were better."""
    line = f"kept: the weights after epoch {kept:g}"
    if kept == best:
        line += ", the best evaluation"
    else:
        line += f"; after {best:g} they were better, and training.patience keeps the best"
    console.print(line, soft_wrap=True)


def _show_gain(task: "Task", metrics: dict[str, Any], start: str) -> None:
    """Compare the model with the one it started from, on the same items."""
    before, after, name = metrics["start"], metrics["dev"], task.decisive
    gain, p = after[name] - before[name], before[f"{name}_p"]
    line = (
        f"{task.decisive_label} {before[name]:.2f} with {start}, calibrated in the same way: "
        f"{gain:+.2f}, p = {p:.4f}"
    )
    if p >= SIGNIFICANT:
        few = f"these {after['total']:,} {task.noun}"
        few = few if after["total"] > 1 else f"this {task.noun.removesuffix('s')}"
        line += f". That may be chance: {few} cannot tell; more data is needed"
    elif gain < 0:
        line += ". It is worse than before: check the answers, or lower training.learning_rate"
    console.print(line, soft_wrap=True, markup=False)


def _default_folder(name: str) -> Path:
    if name in ("", ".", "..") or Path(name).name != name:  # it would be outside runs/
        raise ReadletError(f"name {name!r} is not a valid folder name; give the folder with --out")
    return Path("runs") / name


def _show_fields(kind: str) -> None:
    """Print every recipe field with its default and its description."""
    from rich.padding import Padding

    from readlet.models.recipe_files import explained_fields, toml_value

    for name, default, description in explained_fields(kind):
        # TOML has no null: such a field is left out.
        line = f"{name} (unset)" if default is None else f"{name} = {toml_value(default)}"
        console.print(line, style="bold", markup=False)
        console.print(Padding(description, (0, 0, 0, 4), expand=False), markup=False)
