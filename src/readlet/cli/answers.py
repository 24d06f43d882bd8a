"""What questions are asked of, one passage or many documents, and how their answers are printed.

In a passage answers stand as they are; elsewhere an answer of several lines is one line.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol

from rich.markup import escape
from rich.text import Text

from readlet.console import FEW, console, highlighted, one_line
from readlet.inference.inputs import N_BEST, AnswerOptions
from readlet.types import Candidate, Prediction

if TYPE_CHECKING:
    from readlet.inference.documents import Documents, Found, Key
    from readlet.inference.inputs import Answerer

# At most this many characters of a text are printed: a screen or two of a passage, of a document
# less, since a list follows it, and around an answer in a conversation a few lines.
_OF_PASSAGE, _OF_DOCUMENT, _AROUND_ANSWER = 4000, 1500, 500


class Answered(Protocol):
    def as_json(self, shown: int | None) -> dict[str, Any]: ...

    def show(self, shown: int | None) -> None:
        """Print the passage, the answer in its place, and so many candidates."""
        ...

    def show_briefly(self) -> None:
        """Print the answer and the lines around it, as in a conversation."""
        ...

    def show_more(self) -> None:
        """Print the other candidates."""
        ...

    def show_passage(self) -> None: ...


class Asked(Protocol):
    """Something that can be asked again and again."""

    def answer(self, question: str, shown: int | None = None) -> Answered: ...

    def show_passage(self) -> None: ...


@dataclass(frozen=True)
class OnePassage:
    reader: "Answerer"
    text: str
    options: AnswerOptions

    def answer(self, question: str, shown: int | None = None) -> "PassageAnswer":
        found = self.reader.answer(question, self.text, self.options, n_best=shown or N_BEST)
        return PassageAnswer(question, self.text, found)

    def show_passage(self) -> None:
        console.print(_cropped(self.text, None, _OF_PASSAGE))


@dataclass(frozen=True)
class PassageAnswer:
    question: str
    text: str
    prediction: Prediction

    def as_json(self, shown: int | None) -> dict[str, Any]:
        best = [asdict(candidate) for candidate in self.prediction.n_best[: shown or 1]]
        return asdict(self.prediction) | {"n_best": best}

    def show(self, shown: int | None = None) -> None:
        self.show_passage()
        console.print()
        show_question(self.question)
        show_prediction(self.prediction)
        if shown is not None and shown > 1:
            _show_candidates(self.prediction.n_best[:shown])
        console.print()

    def show_briefly(self) -> None:
        _show_around(self.text, self.prediction)
        show_prediction(self.prediction)

    def show_more(self) -> None:
        _show_candidates(self.prediction.n_best)

    def show_passage(self) -> None:
        console.print(_cropped(self.text, self.prediction, _OF_PASSAGE))


@dataclass(frozen=True)
class ManyDocuments:
    reader: "Answerer"
    documents: "Documents"
    read: int  # pieces
    options: AnswerOptions

    def answer(self, question: str, shown: int | None = None) -> "DocumentsAnswer":
        found = self.documents.answer(self.reader, question, self.options, max_passages=self.read)
        return DocumentsAnswer(question, self.documents, found, self.read)

    def show_passage(self) -> None:
        for name in self.documents.names:
            _show_name(name)


@dataclass(frozen=True)
class DocumentsAnswer:
    question: str
    documents: "Documents"
    found: "Sequence[Found]"
    read: int

    def as_json(self, shown: int | None) -> dict[str, Any]:
        """The best prediction with its document; `n_best`: the best candidate of each document."""
        found = self.found[: shown or FEW]
        best = [{"document": f.passage} | asdict(f.best) for f in found if f.best is not None]
        top = self.found[0]
        return {"document": top.passage} | asdict(top.prediction) | {"n_best": best}

    def show(self, shown: int | None = None) -> None:
        """Print the best answer in its document, then all answers with document and place."""
        top, found = self.found[0], self.found[: shown or FEW]
        if not top.prediction.abstained:
            _show_name(top.passage)
            text = self.documents[top.passage]
            console.print(_cropped(text, top.prediction, _OF_DOCUMENT))
        console.print()
        show_question(self.question)
        _show_best(top)
        if len(found) > 1:
            _show_list(found)
        all_pieces = self.documents.pieces
        read = f"{min(self.read, all_pieces):,} of {all_pieces:,} pieces"
        console.print(f"\nread {read} of {len(self.documents):,} documents", style="dim")

    def show_briefly(self) -> None:
        top = self.found[0]
        _show_around(self.documents[top.passage], top.prediction)
        _show_best(top)

    def show_more(self) -> None:
        _show_list(self.found)

    def show_passage(self) -> None:
        top = self.found[0]
        _show_name(top.passage)
        console.print(_cropped(self.documents[top.passage], top.prediction, _OF_PASSAGE))


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


def _show_candidates(candidates: Sequence[Candidate]) -> None:
    for rank, candidate in enumerate(candidates, 1):
        shown = f"{escape(one_line(candidate.text))}  [dim]at {candidate.start}[/dim]"
        console.print(f"  {rank}. {candidate.score:.2f}  {shown}")


def _show_around(text: str, prediction: Prediction) -> None:
    """Print the lines around the answer; nothing where the reader abstains."""
    if not prediction.abstained:
        console.print(_cropped(text, prediction, _AROUND_ANSWER))


def _show_name(document: "Key") -> None:
    console.print(str(document), style="bold", markup=False, soft_wrap=True)


def _show_best(top: "Found") -> None:
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


def _show_list(found: "Sequence[Found]") -> None:
    """Print the best answer of each document with its place and score."""
    for rank, one in enumerate(found, 1):
        if one.best is None:
            continue
        abstained = "" if not one.prediction.abstained else ", abstained"
        where = escape(f"{one.passage} at {one.best.start}-{one.best.end}{abstained}")
        text = escape(one_line(one.best.text))
        line = f"  {rank}. {one.best.score:.2f}  {text}  [dim]{where}[/dim]"
        console.print(line, soft_wrap=True)  # so that the path can be copied


def _cropped(text: str, prediction: Prediction | None, shown: int) -> Text:
    """The text with the answer highlighted; a long text is cropped around it."""
    is_answered = prediction is not None and not prediction.abstained
    at, end = (prediction.start, prediction.end) if prediction and is_answered else (0, 0)
    first = max(min(at - shown // 2, len(text) - shown), 0)
    last = max(first + shown, end)
    piece = text[first:last]
    lead = len(piece) - len(piece.lstrip("\n"))
    marked = [(at - first - lead, end - first - lead)] if is_answered else []
    before, after = "… " * (first > 0), " …" * (last < len(text))
    return Text.assemble(before, highlighted(piece.strip("\n"), marked), after)
