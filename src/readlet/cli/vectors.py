"""`readlet vectors`: word vectors of an encoder; one space for the words of several languages."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from readlet.cli.console import print_json
from readlet.cli.options import Device, Overwrite

app = typer.Typer(
    help="Make word vectors with an encoder; align, check and merge those of several languages.",
    no_args_is_help=True,
)

Source = Annotated[Path, typer.Argument(help="Vectors of a language: GloVe or fastText text.")]
Target = Annotated[Path, typer.Argument(help="Vectors of the language whose space is used.")]
Out = Annotated[Path, typer.Option(metavar="FILE", help="The file to write; .gz is gzipped.")]
MaxWords = Annotated[int, typer.Option(min=1, help="Words to read of each file, from the top.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


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
    as_json: AsJson = False,
) -> None:
    """Write the source's vectors in the space of the target's, with unit length.

    The widths may differ: the result is as wide as the target.
    """
    from readlet.cli.vectors_view import alignment_values, show_alignment
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
    if as_json:
        print_json(alignment_values(made))
    else:
        show_alignment(made, str(out))


@app.command()
def check(
    source: Annotated[Path, typer.Argument(help="Aligned vectors of a language.")],
    target: Target,
    dictionary: Annotated[
        Path,
        typer.Option(metavar="FILE", help="Pairs of words that the alignment has not seen."),
    ],
    original: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The source before it was aligned: tells how far the map is from orthogonal.",
        ),
    ] = None,
    max_words: MaxWords = 200_000,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Score an alignment: how many words find their translation, by nearest neighbour and CSLS."""
    from readlet.cli.vectors_view import check_values, show_check
    from readlet.inference.trained_model import chosen_device
    from readlet.vectors.retrieval import check_files

    checked = check_files(
        source,
        target,
        dictionary,
        original=original,
        max_words=max_words,
        device=chosen_device(device),
    )
    if as_json:
        print_json(check_values(checked))
    else:
        show_check(checked)


@app.command()
def merge(
    parts: Annotated[
        list[str],
        typer.Argument(
            metavar="CODE=FILE...",
            help="Aligned vectors of each language, as in en=glove.txt; the published files "
            "wiki.xx.align.vec need no code, and CODE=FOLDER finds them.",
        ),
    ],
    out: Out,
    max_words: MaxWords = 200_000,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write one file for all languages, in which a word is written as es:palabra."""
    from readlet.cli.vectors_view import merged_values, show_merged
    from readlet.vectors.vector_files import merge_files, parse_part

    tables = merge_files(
        [parse_part(part) for part in parts], out, max_words=max_words, overwrite=overwrite
    )
    if as_json:
        print_json(merged_values(tables))
    else:
        show_merged(tables, str(out))


@app.command()
def encode(
    encoder: Annotated[
        str, typer.Argument(help="A folder, a name on the hub, or `minilm` (extra minilm).")
    ],
    words: Annotated[
        list[Path],
        typer.Option(metavar="FILE", help="Word vectors whose words are read; repeatable."),
    ],
    out: Out,
    width: Annotated[int, typer.Option(min=2, help="Numbers of each vector.")] = 256,
    max_words: MaxWords = 200_000,
    device: Device = "auto",
    overwrite: Overwrite = False,
) -> None:
    """Write a vector for each word, as a pretrained encoder reads it alone.

    Beside GloVe in `words.vectors`, they tell a small reader which words are alike.
    """
    from readlet.cli.console import console
    from readlet.inference.trained_model import chosen_device
    from readlet.vectors.encode_words import encode_words

    count, kept = encode_words(
        encoder,
        words,
        out,
        width=width,
        max_words=max_words,
        device=chosen_device(device),
        overwrite=overwrite,
    )
    console.print(f"Wrote {out}: {count:,} words; {kept:.1%} of the variance is kept.")
