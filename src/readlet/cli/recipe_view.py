"""Output of `readlet train --fields`: every recipe field, its default and its description."""

from rich.padding import Padding

from readlet.cli.console import console
from readlet.models.recipe_files import explained_fields, toml_value


def show_fields(kind: str) -> None:
    for name, default, description in explained_fields(kind):
        # TOML has no null: such a field is left out.
        line = f"{name} (unset)" if default is None else f"{name} = {toml_value(default)}"
        console.print(line, style="bold", markup=False)
        console.print(Padding(description, (0, 0, 0, 4), expand=False), markup=False)
