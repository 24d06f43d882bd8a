"""What `readlet train --fields` prints: every field of a recipe, its default and its sentence."""

import json

from rich.padding import Padding

from readlet.cli.console import console
from readlet.recipe import explained_fields


def show_fields() -> None:
    for name, default, sentence in explained_fields():
        # As --set and a TOML file take it; JSON's texts, numbers, lists and booleans are TOML's.
        console.print(f"{name} = {json.dumps(default)}", style="bold", markup=False)
        console.print(Padding(sentence, (0, 0, 0, 4), expand=False), markup=False)
