"""`readlet ask`: one question about one passage."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.text import Text

from readlet.cli.console import console, highlighted, print_json
from readlet.cli.threads import use_free_cores
from readlet.types import Prediction

_SHOWN = 4000  # at most this many characters of a passage are printed: a screen or two


def ask(
    question: Annotated[str, typer.Argument(help="The question, in quotes.")],
    passage: Annotated[str, typer.Argument(help="Path of a text file, or - for standard input.")],
    reader: Annotated[
        str, typer.Option(help="The reader to use: a folder, `bundled` or `baseline`.")
    ] = "bundled",
    n_best: Annotated[int, typer.Option(min=1, help="Number of answers to show.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Answer a question about a passage, or report that the passage has no answer."""
    from readlet.errors import ReadletError, bad_input
    from readlet.reading.reader import load_reader
    from readlet.reading.reader_names import BASELINE
    from readlet.storage.files import text_chunks

    try:
        if passage == "-":
            text = sys.stdin.buffer.read().decode("utf-8-sig")
        else:
            text = "".join(text_chunks(Path(passage)))
    except UnicodeDecodeError as error:
        place = f"byte {error.start}"
        raise bad_input("standard input", place, "not UTF-8 text", "convert it to UTF-8") from None
    if not question.strip() or not text.strip():
        raise ReadletError("the question or the passage is empty; both need text")
    if reader != BASELINE:
        use_free_cores()
    prediction = load_reader(reader).answer(question, text, n_best)
    if as_json:
        best = [asdict(candidate) for candidate in prediction.n_best[:n_best]]
        print_json(asdict(prediction) | {"n_best": best})
    else:
        show_answer(question, text, prediction, n_best)


def show_answer(question: str, text: str, prediction: Prediction, n_best: int = 1) -> None:
    """Print the passage with the answer highlighted, then the answer with its confidence."""
    place = [(prediction.start, prediction.end)] if not prediction.refused else []
    console.print(_marked(text, place))
    console.print(f"\n[bold]Q[/bold] {escape(question)}")
    if not prediction.refused:
        details = f"at {prediction.start}-{prediction.end}, confidence {prediction.score:.2f}"
        console.print(f"[bold]A[/bold] {escape(prediction.text)}  [dim]({details})[/dim]")
    else:
        details = f"probability {prediction.no_answer:.2f}"
        # A refusal may be wrong: the best candidate helps to judge it.
        if prediction.n_best:
            details += f"; best candidate: {escape(prediction.n_best[0].text)}"
        console.print(f"[bold]A[/bold] no answer here  [dim]({details})[/dim]")
    for rank, candidate in enumerate(prediction.n_best[:n_best] if n_best > 1 else (), 1):
        shown = f"{escape(candidate.text)}  [dim]at {candidate.start}[/dim]"
        console.print(f"  {rank}. {candidate.score:.2f}  {shown}")
    console.print()


def _marked(text: str, places: list[tuple[int, int]]) -> Text:
    """The text with the spans highlighted; a long text is cropped around the first span."""
    at, end = places[0] if places else (0, 0)
    first = max(min(at - _SHOWN // 2, len(text) - _SHOWN), 0)
    last = max(first + _SHOWN, end)
    piece = text[first:last]
    lead = len(piece) - len(piece.lstrip("\n"))
    shifted = [(start - first - lead, end - first - lead) for start, end in places]
    before, after = "… " * (first > 0), " …" * (last < len(text))
    return Text.assemble(before, highlighted(piece.strip("\n"), shifted), after)
