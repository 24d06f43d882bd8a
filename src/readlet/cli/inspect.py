"""`readlet inspect`: where an answer comes from."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from readlet.cli.answers import show_prediction, show_question
from readlet.cli.options import Device, Encoding, Overwrite
from readlet.console import console, one_line, print_json
from readlet.errors import ReadletError

if TYPE_CHECKING:
    from readlet.inference.inspection import Inspection

_RANKED = 8  # rows of the table
_BAR = 12  # columns of a probability of 1
_MAX_LABEL = 18
_NAMES = ("start", "end")


def inspect(
    reader: Annotated[str, typer.Argument(help="Folder of the reader, or `bundled`.")],
    question: Annotated[str, typer.Argument(help="The question, in quotes.")],
    passage: Annotated[
        str, typer.Argument(metavar="PASSAGE", help="A text file, or - for standard input.")
    ],
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw it into this file, too: .png or .svg."),
    ] = None,
    overwrite: Overwrite = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    encoding: Encoding = "",
    device: Device = "auto",
) -> None:
    """Show where an answer comes from: scores of start and end.

    --save draws them, and for a reader that mixes layers how much each counts for each token.
    """
    from readlet.inference.document_files import read_document
    from readlet.inference.inspection import inspect_answer, inspectable_reader
    from readlet.inference.inspection_plot import check_picture, save_picture
    from readlet.inference.trained_model import BASELINE, reader_folder

    if save is not None:
        inputs = [Path(passage), *([reader_folder(reader)] if reader != BASELINE else [])]
        check_picture(save, inputs, overwrite=overwrite)
    text = read_document(passage, encoding).text
    if not question.strip():
        raise ReadletError("the question is empty; it needs text")
    found = inspect_answer(inspectable_reader(reader, device=device), question, text)
    if as_json:
        print_json(found.as_json())
    else:
        _show_inspection(found)
    if save is not None:
        save_picture(found, save)
        if not as_json:
            console.print(f"saved {save}", markup=False, soft_wrap=True)


def _show_inspection(found: "Inspection") -> None:
    """Print the answer, then where its scores come from."""
    show_question(found.question)
    show_prediction(found.prediction)
    _show_likeliest(found)
    _show_decision(found)
    if found.layers is not None and found.layers.are_mixed:
        note = "The weights of the layers: --save draws them, --json has all numbers."
        console.print(note, style="dim")


def _show_likeliest(found: "Inspection") -> None:
    """The likeliest words or tokens, as the first and as the last of the answer."""
    unit = "words" if found.layers is None else "tokens"
    where = f" of window {found.window:,} of {found.windows:,}" if found.windows > 1 else ""
    console.print(f"\n[bold]Likeliest {unit}{where}[/bold]")
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for name in _NAMES:
        table.add_column(name, no_wrap=True, overflow="ellipsis", max_width=_MAX_LABEL)
        table.add_column("at", justify="right", style="dim")
        table.add_column("", justify="right")
        table.add_column("", width=_BAR, no_wrap=True)
    ranked = [found.likeliest(side, _RANKED) for side in (0, 1)]
    for row in range(max(map(len, ranked))):
        cells: list[str | Text] = []
        for side, places in enumerate(ranked):
            cells += _ranked_cells(found, side, places[row]) if row < len(places) else [""] * 4
        table.add_row(*cells)
    if found.null is not None:
        table.add_row(*["  no answer", "", *_bar(found.prediction.no_answer)] * 2)
    console.print(table)
    left_out = len(found.offsets) - _RANKED
    if left_out > 0:
        console.print(f"▸ best answer. {left_out:,} {unit} left out; --json has all.", style="dim")


def _ranked_cells(found: "Inspection", side: int, place: int) -> list[str | Text]:
    chosen = place == (found.first, found.last)[side]
    probability = float(found.probabilities[place, side])
    label = Text(f"{'▸ ' if chosen else '  '}{one_line(found.labels[place])}")
    label.stylize("bold" if chosen else "")
    at = str(int(found.offsets[place, 0]))
    return [label, at, *_bar(probability)]


def _bar(probability: float) -> list[str | Text]:
    return [f"{probability:.3f}", Text("█" * round(probability * _BAR), style="blue")]


def _show_decision(found: "Inspection") -> None:
    """The scores of the best answer and of "no answer", and what follows."""
    start, end = found.answer_scores
    console.print(f"\nbest answer  {start:.2f} + {end:.2f} = {start + end:.2f}")
    if found.null is None:
        console.print("This reader has no score for “no answer”: it always answers.", style="dim")
        return
    start, end = found.null
    where = " in this window" if found.windows > 1 else ""
    console.print(f"no answer    {start:.2f} + {end:.2f} = {start + end:.2f}{where}")
    doubt, confidence = found.prediction.no_answer, found.prediction.score
    console.print(
        f"probability of no answer {doubt:.2f}, confidence in the best one {confidence:.2f}"
    )
