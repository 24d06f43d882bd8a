"""`readlet augment`: more training data by translation, with relocated answers."""

from pathlib import Path
from typing import Annotated, Any

import typer

from readlet.cli.data import OUTPUT
from readlet.cli.many_files import Format, Ray, many_files, show_summary
from readlet.cli.options import ColumnPairs, Encoding, Overwrite
from readlet.console import print_json


def augment(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="Data files, hub:NAME@SPLIT or bundled:SPLIT; or a folder, a pattern in quotes or "
            "a URL (s3://, gs://) of many files.",
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            metavar="OUT",
            help=f"The file to write {OUTPUT}; of a folder, pattern or URL: a folder, with an "
            "output for each file.",
        ),
    ],
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
    min_quality: Annotated[
        float,
        typer.Option(
            metavar="Q",
            help="With --back: drop questions below this quality, from 0 to 1; 0.8 "
            "drops about two thirds of the garbled ones.",
        ),
    ] = 0.0,
    share: Annotated[
        float, typer.Option(help="The fraction of the questions that is translated.")
    ] = 1.0,
    seed: Annotated[int, typer.Option(help="Random seed of that fraction.")] = 0,
    merge: Annotated[
        bool,
        typer.Option(
            "--merge/--no-merge",
            help="Also write the old questions; --no-merge leaves them out.",
            show_default=False,
        ),
    ] = True,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="ENGINE",
            help="apertium, an Argos package, or the folder or hub name of a CTranslate2 "
            "model; several with commas, one for each direction.",
            show_default="apertium",
        ),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where translations are stored; of many files: a folder, with a file for each.",
            show_default="in the cache folder of Readlet",
        ),
    ] = None,
    lost: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="List what is not kept, with reasons, as JSON lines."),
    ] = None,
    overwrite: Overwrite = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    column: ColumnPairs = [],  # noqa: B006
    encoding: Encoding = "",
    ray: Ray = "",
    kind: Format = "jsonl",
) -> None:
    """Add translated or back-translated questions to data.

    Answers are relocated in the translated context; otherwise the question counts as lost.
    If it is interrupted, even by SIGKILL, the same command continues where it stopped.
    """
    from readlet.augmentation.config import AugmentationConfig
    from readlet.augmentation.config import preset as preset_fields
    from readlet.augmentation.pipeline import augment_files
    from readlet.cli.data import show_tally
    from readlet.data.columns import DataFormat
    from readlet.errors import ReadletError

    what: dict[str, Any] = {"to": tuple(to), "back": back}
    if fields is not None:
        what["fields"] = tuple(name.strip() for name in fields.split(","))
    if preset is not None:
        if to or back or fields:
            raise ReadletError("--preset: in place of --to, --back and --fields; leave them out")
        what = preset_fields(preset)
    what |= {"keep": keep, "min_quality": min_quality}  # checked there
    config = AugmentationConfig(**what, source=source, merge=merge, share=share, seed=seed)
    data_format = DataFormat.parse(column, encoding)
    of_one = {"--lost": lost, "--overwrite": overwrite, "--json": as_json}
    if many := many_files(files, out, ray, kind, data_format, of_one):
        from readlet.cluster.commands import augment_files as augment_many

        found = augment_many(many, config, engine=engine, caches=str(cache or ""))
        new = f"{found.counts['questions']:,} questions, {found.counts['new']:,} of them new"
        show_summary(found, out, f"{new}, {found.counts['lost']:,} lost")
        return
    tally = augment_files(
        files,
        out,
        config,
        engine=engine,
        cache=cache,
        lost=lost,
        overwrite=overwrite,
        data_format=data_format,
    )
    if as_json:
        print_json(tally.as_json(), indent=1)
    else:
        show_tally(tally, out)
