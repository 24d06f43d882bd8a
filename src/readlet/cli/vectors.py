"""`readlet vectors`: one space for the words of several languages."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from readlet.cli.options import Device, Overwrite
from readlet.console import console, print_json

if TYPE_CHECKING:
    from readlet.vectors.vector_files import Pairs, Table

app = typer.Typer(help="Align, check and merge word vectors.", no_args_is_help=True)

Source = Annotated[Path, typer.Argument(help="Vectors of a language: GloVe or fastText text.")]
Target = Annotated[Path, typer.Argument(help="Vectors of the language whose space is used.")]
Out = Annotated[Path, typer.Option(metavar="FILE", help="The file to write; .gz is gzipped.")]
MaxWords = Annotated[int, typer.Option(min=1, help="Words to read of each file, from the top.")]
_NAMES = {"nearest": "nearest neighbour", "csls": "CSLS"}


@app.command()
def align(
    source: Source,
    target: Target,
    dictionary: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="Lines with a word of the source and its translation to the target.",
        ),
    ],
    out: Out,
    method: Annotated[
        Literal["procrustes", "rcsls"],
        typer.Option(help="An orthogonal map, or one trained further for retrieval by CSLS."),
    ] = "procrustes",
    max_words: MaxWords = 200_000,
    device: Device = "auto",
    overwrite: Overwrite = False,
) -> None:
    """Write the source's vectors in the space of the target's.

    They get unit length. The widths may differ: the result is as wide as the target.
    """
    from readlet.inference.trained_model import chosen_device
    from readlet.vectors.alignment import align_files

    made = align_files(
        source,
        target,
        dictionary,
        out,
        method=method,
        max_words=max_words,
        device=chosen_device(device),
        overwrite=overwrite,
    )
    _show_tables(made.source, made.target)
    _show_pairs(made.pairs)
    if made.undetermined:
        console.print(
            f"Only {len(made.pairs):,} pairs for {min(made.matrix.shape)} dimensions: "
            f"{made.undetermined} dimensions of the map are arbitrary; give more pairs."
        )
    _show(f"Wrote {out}: {len(made.source):,} words.")


@app.command()
def check(
    source: Annotated[Path, typer.Argument(help="Aligned vectors of a language.")],
    target: Target,
    dictionary: Annotated[
        Path,
        typer.Option(metavar="FILE", help="Pairs of words that the alignment has not seen."),
    ],
    max_words: MaxWords = 200_000,
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Score an alignment: how many words find their translation.

    By nearest neighbour, and by CSLS.
    """
    from readlet.inference.trained_model import chosen_device
    from readlet.vectors.alignment import check_files

    checked = check_files(
        source,
        target,
        dictionary,
        max_words=max_words,
        device=chosen_device(device),
    )
    if as_json:
        values = {"asked": checked.asked, "precision": checked.precision}
        print_json(values | {"pairs": len(checked.pairs), "listed": checked.pairs.listed})
        return
    _show_tables(checked.source, checked.target)
    _show_pairs(checked.pairs)
    console.print(f"{checked.asked:,} words with a translation:")
    for name, found in checked.precision.items():
        shares = ", ".join(f"P@{cut} {share:.1%}" for cut, share in found.items())
        console.print(f"  {_NAMES[name]}: {shares}")


@app.command()
def merge(
    parts: Annotated[
        list[str],
        typer.Argument(
            metavar="CODE=FILE...",
            help="Aligned vectors of each language, as in en=glove.txt es=wiki.es.align.vec.",
        ),
    ],
    out: Out,
    max_words: MaxWords = 200_000,
    overwrite: Overwrite = False,
) -> None:
    """Write one file for all languages: es:palabra is a word."""
    from readlet.vectors.vector_files import merge_files, parse_part

    tables = merge_files(
        [parse_part(part) for part in parts], out, max_words=max_words, overwrite=overwrite
    )
    _show_tables(*tables.values())
    counts = ", ".join(f"{code} {len(table):,}" for code, table in tables.items())
    _show(f"Wrote {out}: {sum(map(len, tables.values())):,} words ({counts}).")


def _show(text: str) -> None:
    console.print(text, markup=False, soft_wrap=True)  # so that a path can be copied


def _show_tables(*tables: "Table") -> None:
    for table in tables:
        faults = [
            f"{count:,} {what}"
            for count, what in (
                (table.repeated, "repeated words left out"),
                (table.zeros, "words with a zero vector"),
            )
            if count
        ]
        text = f"{table.path}: {len(table):,} words, width {table.width}"
        _show("; ".join([text, *faults]))


def _show_pairs(pairs: "Pairs") -> None:
    console.print(f"Dictionary: {len(pairs):,} of {pairs.listed:,} pairs have vectors.")
