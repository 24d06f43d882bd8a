"""How answers are printed: in their passage, or best first with their documents.

In a passage they stand as they are; elsewhere an answer of several lines is one line.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.text import Text

from readlet.cli.console import FEW, console, highlighted
from readlet.terminal import one_line, say
from readlet.types import Candidate, Prediction

if TYPE_CHECKING:
    from readlet.inference.document_files import DocumentFiles
    from readlet.inference.documents import Documents, Found, Key

# At most this many characters of a text are printed: a screen or two of a passage, of a document
# less, since a list follows it, and around an answer in a conversation a few lines.
_OF_PASSAGE, _OF_DOCUMENT, _AROUND_ANSWER = 4000, 1500, 500


def show_answer(question: str, text: str, prediction: Prediction, n_best: int = 1) -> None:
    """Print the passage with the answer highlighted, then the answer with its confidence."""
    show_passage(text, prediction)
    console.print()
    show_question(question)
    show_prediction(prediction)
    if n_best > 1:
        show_candidates(prediction.n_best[:n_best])
    console.print()


def show_passage(text: str, prediction: Prediction | None) -> None:
    """Print the passage, or a part of a long one, with the answer highlighted if there is one."""
    place = [(prediction.start, prediction.end)] if prediction and not prediction.abstained else []
    console.print(_marked(text, place, _OF_PASSAGE))


def show_around(text: str, prediction: Prediction) -> None:
    """Print the lines around the answer; nothing where the reader abstains."""
    if not prediction.abstained:
        place = (prediction.start, prediction.end)
        console.print(_marked(text, [place], _AROUND_ANSWER))


def show_candidates(candidates: Sequence[Candidate]) -> None:
    for rank, candidate in enumerate(candidates, 1):
        shown = f"{escape(one_line(candidate.text))}  [dim]at {candidate.start}[/dim]"
        console.print(f"  {rank}. {candidate.score:.2f}  {shown}")


def show_question(question: str) -> None:
    console.print(f"[bold]Q[/bold] {escape(question)}")


def show_prediction(prediction: Prediction) -> None:
    """Print the answer, or that there is none, with its probability."""
    if not prediction.abstained:
        details = f"at {prediction.start}-{prediction.end}, confidence {prediction.score:.2f}"
        console.print(f"[bold]A[/bold] {escape(one_line(prediction.text))}  [dim]({details})[/dim]")
    else:
        details = f"probability {prediction.no_answer:.2f}"
        # It may be wrong: the best candidate helps to judge it.
        if prediction.n_best:
            details += f"; best candidate: {escape(one_line(prediction.n_best[0].text))}"
        console.print(f"[bold]A[/bold] no answer here  [dim]({details})[/dim]")


def show_found(
    question: str, documents: "Documents", found: "Sequence[Found]", pieces_read: int
) -> None:
    """Print the best answer in its document, then all answers with document, place and score."""
    top = found[0]
    if not top.prediction.abstained:
        place = (top.prediction.start, top.prediction.end)
        show_name(top.passage)
        console.print(_marked(documents[top.passage], [place], _OF_DOCUMENT))
    console.print()
    show_question(question)
    show_best(top)
    if len(found) > 1:
        show_list(found)
    counts = f"read {pieces_read:,} of {documents.pieces:,} pieces of {len(documents):,} documents"
    console.print(f"\n{counts}", style="dim")


def show_name(document: "Key") -> None:
    console.print(str(document), style="bold", markup=False, soft_wrap=True)


def show_best(top: "Found") -> None:
    """Print the answer with its document, or that there is none."""
    best = top.prediction
    if not best.abstained:
        details = f"{top.passage} at {best.start}-{best.end}, confidence {best.score:.2f}"
        answer = escape(one_line(best.text))
    else:
        details = f"probability {best.no_answer:.2f}"
        answer = "no answer in these documents"
        if top.best:
            details += f"; best candidate: {one_line(top.best.text)}, {top.passage}"
    console.print(f"[bold]A[/bold] {answer}  [dim]({escape(details)})[/dim]", soft_wrap=True)


def show_list(found: "Sequence[Found]") -> None:
    """Print the best answer of each document with its place and score."""
    for rank, one in enumerate(found, 1):
        if one.best is None:
            continue
        abstained = "" if not one.prediction.abstained else ", abstained"
        where = escape(f"{one.passage} at {one.best.start}-{one.best.end}{abstained}")
        text = escape(one_line(one.best.text))
        line = f"  {rank}. {one.best.score:.2f}  {text}  [dim]{where}[/dim]"
        console.print(line, soft_wrap=True)  # so that the path can be copied


def found_as_json(found: "Sequence[Found]") -> dict[str, Any]:
    """The best prediction with its document; `n_best` has the best candidate of each document."""
    best = [{"document": f.passage} | asdict(f.best) for f in found if f.best is not None]
    top = found[0]
    return {"document": top.passage} | asdict(top.prediction) | {"n_best": best}


def report_skipped(files: "DocumentFiles") -> None:
    """Report files that are not read, on stderr in one line for each reason."""
    if files.unreadable:
        shown = "; ".join(files.unreadable[:FEW])
        more = len(files.unreadable) - FEW
        rest = f"; and {more:,} more" if more > 0 else ""
        say(f"readlet: {len(files.unreadable):,} skipped: {shown}{rest}")
    if files.others:
        say(f"readlet: {files.others:,} files of other types skipped")


def _marked(text: str, places: list[tuple[int, int]], shown: int) -> Text:
    """The text with the spans highlighted; a long text is cropped around the first span."""
    at, end = places[0] if places else (0, 0)
    first = max(min(at - shown // 2, len(text) - shown), 0)
    last = max(first + shown, end)
    piece = text[first:last]
    lead = len(piece) - len(piece.lstrip("\n"))
    shifted = [(start - first - lead, end - first - lead) for start, end in places]
    before, after = "… " * (first > 0), " …" * (last < len(text))
    return Text.assemble(before, highlighted(piece.strip("\n"), shifted), after)
