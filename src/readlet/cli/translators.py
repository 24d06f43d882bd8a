"""`readlet translators`: which translation engines there are."""

import typer

from readlet.cli.console import console

app = typer.Typer(no_args_is_help=True)


@app.callback()
def translators() -> None:
    """List translation engines."""


@app.command(name="list")
def list_command() -> None:
    """List the engines of this machine with their language pairs."""
    from readlet.augmentation.translation.apertium import INSTALL
    from readlet.augmentation.translation.engines import installed_engines

    engines = list(installed_engines())
    for engine in engines:
        for pair in sorted(engine.pairs()):
            _print(f"{engine.name:10} {pair!s:8} {engine.version(pair)}")
    if not engines:
        _print("no translation engine is installed")
        _print(f"Apertium, {INSTALL}")
        _print("a neural model: readlet augment --engine FILE.argosmodel, FOLDER or HUB/NAME")


def _print(line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)
