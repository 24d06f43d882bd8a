"""Start-up on a GPU: a helper process encodes the data into the cache while this one compiles.

Both take half a minute of one core and are independent. The helper reads a recipe from its
standard input.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from readlet.processes import own_command
from readlet.recipe.recipe import Recipe


@contextmanager
def encoding_in_background(recipe: Recipe) -> Iterator[None]:
    """Encode the recipe's data into the cache in the background; wait for it at the end.

    If the helper fails, `prepare` does the work itself and reports the error.
    """
    command, null = own_command("readlet.training.background"), subprocess.DEVNULL
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=null, stderr=null) as helper:
        try:
            with suppress(BrokenPipeError):  # it has died already
                helper.stdin.write(recipe.model_dump_json().encode())  # type: ignore[union-attr]
                helper.stdin.close()  # type: ignore[union-attr]
            yield
        except BaseException:
            helper.kill()
            raise


def _main() -> None:
    from readlet.models.recipe_files import parse_recipe
    from readlet.training.training_data import prepare
    from readlet.training.warm_start import load_start

    given = parse_recipe(json.loads(sys.stdin.buffer.read()), "standard input")
    start, recipe = load_start(given)
    prepare(recipe, start)


if __name__ == "__main__":
    _main()
