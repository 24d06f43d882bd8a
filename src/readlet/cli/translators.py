"""`readlet translators`: which translation engines there are, and how to get more."""

from typing import Annotated

import typer

from readlet.cli.console import console

app = typer.Typer(help="List and install translation engines.", no_args_is_help=True)


@app.command(name="list")
def list_command() -> None:
    """List the engines of this machine with their language pairs."""
    from readlet.translation.apertium import INSTALL
    from readlet.translation.engines import installed_engines

    engines = list(installed_engines())
    for engine in engines:
        for pair in sorted(engine.pairs()):
            _print(f"{engine.name:10} {pair!s:8} {engine.version(pair)}")
    if not engines:
        _print("no translation engine is installed")
        _print("Argos packages: readlet translators install en-es")
        _print(f"Apertium, {INSTALL}")


@app.command()
def install(
    pairs: Annotated[
        list[str], typer.Argument(metavar="PAIR...", help="Two language codes, such as en-es.")
    ],
    index: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="Address of the package index.",
            show_default="ARGOS_PACKAGE_INDEX, or the public index",
        ),
    ] = "",
) -> None:
    """Download the Argos packages of language pairs, into the folder that Argos uses.

    Where a pair has no package, two are installed: to English, and from there.
    """
    from readlet.translation import argos_index
    from readlet.translation.engines import parse_pair

    address = index or argos_index.index_address()
    for pair in [parse_pair(text) for text in pairs]:
        for package in argos_index.install(pair, address):
            _print(f"{package.pair} {package.version}: {package.folder}")


def _print(line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)
