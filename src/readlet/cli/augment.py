"""`readlet augment`: more training data by translation, with every answer found again.

`readlet translators`: which translation engines there are.
"""

import shlex
import sys
from functools import cache as cached
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from readlet.cli.data import OUTPUT, Files
from readlet.cli.options import ColumnPairs, Encoding, Overwrite
from readlet.console import console, print_json

translators = typer.Typer(help="List translation engines.", no_args_is_help=True)


def augment(
    files: Files,
    out: Annotated[Path, typer.Option(metavar="OUT", help=f"The file to write {OUTPUT}.")],
    to: Annotated[
        list[str], typer.Option(metavar="CODE", help="A language to translate into; repeatable.")
    ] = [],  # noqa: B006  typer copies it
    source: Annotated[
        str, typer.Option("--from", metavar="CODE", help="The language of the data.")
    ] = "en",
    back: Annotated[
        bool, typer.Option("--back", help="Translate back: paraphrases in the same language.")
    ] = False,
    fields: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD,...",
            help="What to translate: question, context (with the answers), or both.",
            show_default="question,context",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A published experiment in place of --to, --back and --fields: "
            "A1, B1, C1, B2, F2, D1, D2, D3 or F1.",
        ),
    ] = None,
    keep: Annotated[
        str,
        typer.Option(
            metavar="MODE",
            help="Which answers are kept: strict (the published rule), verified (found in two "
            "independent ways), or all that are found.",
        ),
    ] = "verified",
    share: Annotated[
        float, typer.Option(help="The fraction of the questions that is translated.")
    ] = 1.0,
    seed: Annotated[int, typer.Option(help="Random seed of that fraction.")] = 0,
    merge: Annotated[
        bool, typer.Option("--merge/--no-merge", help="Write the old questions, too.")
    ] = True,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="ENGINE",
            help="apertium, argos, an Argos package, or the folder or hub name of a CTranslate2 "
            "model; several with commas, one for each direction.",
            show_default="the first that has the languages",
        ),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where translations are stored.",
            show_default="in the cache folder of Readlet",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write a report there: JSON, and samples in Markdown."),
    ] = None,
    lost: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="List what is not kept, with reasons, as JSON lines."),
    ] = None,
    overwrite: Overwrite = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    column: ColumnPairs = [],  # noqa: B006
    encoding: Encoding = "",
) -> None:
    """Add translated or back-translated questions to data.

    Every answer is found again in the translated context, or the question is counted as lost.
    If it is interrupted, even by SIGKILL, the same command continues where it stopped.
    """
    from readlet.augmentation.config import config_of
    from readlet.augmentation.pipeline import Outputs, Sources, default_cache
    from readlet.augmentation.pipeline import augment as augment_files
    from readlet.augmentation.translation.engines import translator_for
    from readlet.cli.data_view import show_tally
    from readlet.data.columns import DataFormat

    config = config_of(
        preset=preset,
        to=to,
        back=back,
        fields=fields,
        source=source,
        merge=merge,
        share=share,
        seed=seed,
        keep=keep,
    )
    sources = Sources(files, DataFormat.parse(column, encoding))
    stored = cache or default_cache()
    choose = cached(partial(translator_for, engine=engine))  # models are loaded once
    tally = augment_files(
        sources,
        config,
        Outputs(out=out, lost=lost, report=report, overwrite=overwrite),
        choose,
        stored,
        command=shlex.join(["readlet", *sys.argv[1:]]),
    )
    if as_json:
        print_json(tally.as_json(), indent=1)
    else:
        show_tally(tally, str(out))


@translators.callback()
def _translators() -> None:  # so that `list` is not left out
    pass


@translators.command(name="list")
def list_engines() -> None:
    """List the engines of this machine with their language pairs."""
    from readlet.augmentation.translation.apertium import INSTALL
    from readlet.augmentation.translation.engines import installed_engines

    engines = list(installed_engines())
    lines = [
        f"{engine.name:10} {pair!s:8} {engine.version(pair)}"
        for engine in engines
        for pair in sorted(engine.pairs())
    ]
    if not engines:
        lines = [
            "no translation engine is installed",
            f"Apertium, {INSTALL}",
            "a neural model: readlet augment --engine FILE.argosmodel, FOLDER or HUB/NAME",
        ]
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
