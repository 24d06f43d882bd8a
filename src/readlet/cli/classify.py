"""`readlet classify`: the class of a text, or of all texts of a file."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from readlet.cli.many_files import Format, Ray, many_files, show_summary
from readlet.cli.options import ColumnPairs, Device, Encoding, Overwrite
from readlet.console import console, print_json

_SHOWN = 5  # classes of a text


def classify(
    classifier: Annotated[str, typer.Argument(help="Folder of the classifier.")],
    texts: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT [SECOND]",
            help="A text in quotes, or two for a classifier of pairs. With --out: a file of texts, "
            "or a folder, a pattern in quotes or a URL (s3://, gs://) of many.",
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option(
            help="Label all texts of a file and write them here: .csv, .jsonl or .parquet with "
            'texts, labels and probabilities, .json for {"id": "label", ...}; text also with .gz. '
            "Of many files: a folder."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    column: ColumnPairs = [],  # noqa: B006  typer copies it
    encoding: Encoding = "",
    device: Device = "auto",
    batch_size: Annotated[
        int | None,
        typer.Option(min=1, help="Texts read at once.", show_default="suits the device"),
    ] = None,
    overwrite: Overwrite = False,
    ray: Ray = "",
    kind: Format = "jsonl",
) -> None:
    """Predict the class of a text, or label files of any size.

    If labelling a file is interrupted, the same command continues where it stopped.
    """
    from readlet.data.columns import DataFormat
    from readlet.errors import ReadletError
    from readlet.inference.classifier import Classifier
    from readlet.inference.predict_file import classify_file

    size = batch_size or 0
    if out is not None:
        data_format = DataFormat.parse(column, encoding)
        of_one = {"--overwrite": overwrite}
        if files := many_files(texts, out, ray, kind, data_format, of_one):
            from readlet.cluster.commands import classify_files

            labelled = classify_files(classifier, files, device=device, batch_size=size)
            show_summary(labelled, out, f"{labelled.counts['texts']:,} texts with labels")
            return
        if len(texts) != 1:
            raise ReadletError("--out: give one file of texts, a pattern in quotes, or a folder")
        made = classify_file(
            classifier,
            texts[0],
            Path(out),
            data_format=data_format,
            device=device,
            batch_size=size,
            overwrite=overwrite,
        )
        console.print(f"{out}: {made:,} texts with labels", markup=False, soft_wrap=True)
        return
    if len(texts) > 2:
        raise ReadletError("give a text, or two for a classifier of pairs; quote each of them")
    if len(texts) == 1 and Path(texts[0]).is_file():
        raise ReadletError(f"{texts[0]}: is a file; name an output for its labels with --out")
    found = Classifier.load(classifier, device=device, batch_size=size).predict(*texts)
    if as_json:
        print_json(asdict(found))
        return
    if found.value is not None:
        console.print(f"{found.value:.4g}")
        return
    ranked = sorted(found.probabilities.items(), key=lambda item: -item[1])
    for name, probability in ranked[:_SHOWN]:
        console.print(f"{probability:.3f}  {name}", markup=False, highlight=False)
    if len(ranked) > _SHOWN:
        console.print(f"and {len(ranked) - _SHOWN} more classes", style="dim")
