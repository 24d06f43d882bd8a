"""Answers about one passage or many documents, printed in at most six lines."""

import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol

from rich.markup import escape
from rich.text import Text

from readlet.console import console, highlighted, one_line
from readlet.inference.inputs import N_BEST, AnswerOptions
from readlet.text.passages import place_of
from readlet.types import Candidate, Prediction

if TYPE_CHECKING:
    from readlet.inference.document_text import DocumentText
    from readlet.inference.documents import Documents
    from readlet.inference.inputs import Answerer

# Maximum characters of an answer and of its sentence, two terminal lines each.
_OF_ANSWER, _OF_SENTENCE = 150, 140


@dataclass(frozen=True)
class Located:
    """A candidate with the text that contains it."""

    name: str  # of the document
    document: "DocumentText"
    candidate: Candidate

    @property
    def text(self) -> str:
        return self.document.text

    @property
    def place(self) -> str:
        """Its page, row or heading, or its line."""
        return self.document.place(self.candidate.start)

    @property
    def whole_place(self) -> str:
        return f"{self.name}, {self.place}"

    def as_json(self) -> dict[str, Any]:
        return {"document": self.name, "place": self.place} | asdict(self.candidate)

    def sentence(self) -> Text:
        """In one line, with the answer highlighted; a long one is cropped around it."""
        start, end = self.candidate.start, self.candidate.end
        place = place_of(self.text, start, end)
        span = (start - place.start, end - place.start)
        return _cropped(place.sentence, span)


@dataclass(frozen=True)
class Answer:
    """What was found for a question."""

    question: str
    prediction: Prediction
    found: tuple[Located, ...]  # best first
    where: str  # where it was searched
    values: dict[str, Any]  # for JSON, without candidates
    note: str = ""

    def as_json(self, shown: int) -> dict[str, Any]:
        place = "" if self.prediction.abstained else self.found[0].place
        best = [one.as_json() for one in self.found[:shown]]
        return self.values | {"place": place, "n_best": best}

    def show(self, shown: int = 1) -> None:
        """Print the answer, its sentence and its place, and the `shown` best candidates."""
        show_prediction(self.prediction, self.where)
        if self.found:
            best = self.found[0]
            console.print(best.sentence())
            # To be copied.
            console.print(best.whole_place, style="dim", markup=False, soft_wrap=True)
        if self.note:
            console.print(self.note, style="dim")
        if shown > 1:
            self.show_more(shown)

    def show_more(self, shown: int = N_BEST) -> None:
        """Print the candidates, each in its sentence."""
        for rank, one in enumerate(self.found[:shown], 1):
            score = f"  {rank}. {one.candidate.score:.2f}  "
            place = Text(f"  {one.whole_place}", style="dim")
            console.print(Text.assemble(score, one.sentence(), place), soft_wrap=True)

    def show_passage(self) -> None:
        """Print the text of the best candidate, with the answer highlighted."""
        span = (self.prediction.start, self.prediction.end)
        for one in self.found[:1]:
            console.print(highlighted(one.text, [] if self.prediction.abstained else [span]))


class Source(Protocol):
    """A source of answers to any number of questions."""

    def answer(self, question: str, shown: int = 1) -> Answer: ...


@dataclass(frozen=True)
class OnePassage:
    reader: "Answerer"
    name: str
    document: "DocumentText"
    options: AnswerOptions

    def answer(self, question: str, shown: int = 1) -> Answer:
        options = self.options.changed(n_best=max(shown, N_BEST))
        prediction = self.reader.answer(question, self.document.text, options)
        return answer_in(self.name, self.document, question, prediction)


def answer_in(name: str, document: "DocumentText", question: str, prediction: Prediction) -> Answer:
    """The answer of a reader in one passage."""
    found = tuple(Located(name, document, candidate) for candidate in prediction.n_best)
    return Answer(question, prediction, found, "here", asdict(prediction))


@dataclass(frozen=True)
class ManyDocuments:
    reader: "Answerer"
    documents: "Documents"
    read: int  # pieces
    options: AnswerOptions

    def answer(self, question: str, shown: int = 1) -> Answer:
        """The best answer with its document, and the best candidate of each piece."""
        found = self.documents.answer(self.reader, question, self.options, max_passages=self.read)
        best = [(f.passage, f.best) for f in found if f.best is not None]
        pieces = self.documents.pieces
        read = f"{min(self.read, pieces):,} of {pieces:,} pieces"
        return Answer(
            question,
            found[0].prediction,
            tuple(Located(str(name), self.documents.document(name), one) for name, one in best),
            "in these documents",
            {"document": found[0].passage} | asdict(found[0].prediction),
            f"read {read} of {len(self.documents):,} documents",
        )


def show_prediction(prediction: Prediction, where: str = "here") -> None:
    """Print the answer, or that there is none, and how sure that is."""
    unsure = "unsure, " if prediction.certainty == "unsure" else ""
    if not prediction.abstained:
        answer = f"[bold]{escape(_shortened(prediction.text))}[/bold]"
        console.print(f"{answer}  [dim]({unsure}confidence {prediction.score:.2f})[/dim]")
        return
    # Abstaining may be wrong: the best candidate helps to judge it.
    guess = next(iter(prediction.n_best), None)
    none = f"{prediction.no_answer:.2f}"
    if guess is None or guess.score < prediction.no_answer:
        console.print(f"No answer {where}  [dim]({unsure}probability {none})[/dim]")
        what, odds = "Best guess", ""
    else:
        console.print("No answer is sure enough")
        what, odds = "Below the confidence asked for", f", of no answer {none}"
    if guess is not None:
        shown = escape(_shortened(guess.text))
        console.print(f"{what}: {shown}  [dim](confidence {guess.score:.2f}{odds})[/dim]")


def _shortened(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _OF_ANSWER else f"{line[: _OF_ANSWER - 2]} …"


def _cropped(text: str, span: tuple[int, int]) -> Text:
    """The text in one line with the answer highlighted; of a long one, the words around it."""
    at, end = span
    first = max(min(at - _OF_SENTENCE // 2, len(text) - _OF_SENTENCE), 0)
    last = max(first + _OF_SENTENCE, end)
    first = max(first, text.find(" ", first, at) + 1) if first else 0
    last = max(text.rfind(" ", end, last), end) if last < len(text) else last
    parts = (re.sub(r"\s+", " ", part) for part in (text[first:at], text[at:end], text[end:last]))
    before, inside, after = parts
    before, after = before.lstrip(), after.rstrip()
    piece = highlighted(before + inside + after, [(len(before), len(before) + len(inside))])
    return Text.assemble("… " * (first > 0), piece, " …" * (last < len(text)))


def show_question(question: str) -> None:
    console.print(f"[bold]Q[/bold] {escape(question)}")
