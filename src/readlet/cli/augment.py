"""`readlet augment`: more training data by translation, with every answer found again."""

import shlex
import sys
from functools import cache as cached
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from readlet.cli.console import console, print_json
from readlet.cli.data import OUTPUT, Files
from readlet.cli.options import ColumnPairs, Encoding, Overwrite


def augment(
    files: Files,
    out: Annotated[
        Path | None, typer.Option(metavar="OUT", help=f"The file to write {OUTPUT}.")
    ] = None,
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
            help="An experiment of the paper in place of --to, --back and --fields: "
            "A1, B1, C1, B2, F2, D1, D2, D3 or F1.",
        ),
    ] = None,
    keep: Annotated[
        str,
        typer.Option(
            metavar="MODE",
            help="Which answers are kept: strict (the paper's rule), verified (found in two "
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
            help="apertium, argos, an Argos package, or the folder of a CTranslate2 model; several "
            "with commas, one for each direction.",
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
    add_cache: Annotated[
        list[Path],
        typer.Option(
            "--add-cache", metavar="FILE", help="Take over the translations of a cache; repeatable."
        ),
    ] = [],  # noqa: B006
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="K/N", help="Only translate part K of N into the cache; needs no --out."
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write a report there: HTML, Markdown and JSON."),
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
    """Add translated or back-translated questions to the data.

    Every answer is found again in the translated context, or the question is counted as lost.
    If it is interrupted, even by SIGKILL, the same command continues where it stopped.
    `accelerate launch -m readlet augment ...` divides the work among processes.
    """
    from readlet.augment.augmenting import Outputs, default_cache, translate_shard
    from readlet.augment.augmenting import augment as augment_files
    from readlet.augment.plan import plan_of
    from readlet.augment.shards import parse_shard
    from readlet.augment.translated_file import Sources
    from readlet.cli.augment_view import show_tally
    from readlet.errors import ReadletError
    from readlet.formats.columns import DataFormat
    from readlet.translation.engines import translator_for

    plan = plan_of(
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
    if shard is not None:
        later = {"--out": out, "--report": report, "--lost": lost, "--add-cache": add_cache}
        for option, given in later.items():
            if given:
                raise ReadletError(f"{option}: not with --shard; give it without --shard, later")
        part = parse_shard(shard)
        count = translate_shard(sources, plan, choose, stored, part)
        line = f"{stored}: {count:,} translations, with part {shard} of the data"
        console.print(line, markup=False, soft_wrap=True)
        return
    if out is None:
        raise ReadletError("--out: no file to write; give one, or translate with --shard only")
    tally = augment_files(
        sources,
        plan,
        Outputs(out=out, lost=lost, report=report, overwrite=overwrite),
        choose,
        stored,
        add=add_cache,
        command=shlex.join(["readlet", *sys.argv[1:]]),
    )
    if tally is None:  # another process writes
        return
    if as_json:
        print_json(tally.as_json(), indent=1)
    else:
        show_tally(tally, str(out))
