"""What questions are asked of: one passage, or many documents; and how their answers are shown.

`readlet ask -i`: questions one after another about the same passage or documents.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol

from readlet.cli import answer_view as view
from readlet.cli.answer_view import show_question
from readlet.cli.console import FEW, console, on_stderr, print_json
from readlet.errors import bad_input
from readlet.terminal import forget_interrupt, say
from readlet.types import N_BEST, Prediction

if TYPE_CHECKING:
    from readlet.inference.documents import Documents, Found
    from readlet.inference.model_folder import Answerer


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
    settings: dict[str, Any]  # of `Reader.answer`

    def answer(self, question: str, shown: int | None = None) -> "PassageAnswer":
        found = self.reader.answer(question, self.text, shown or N_BEST, **self.settings)
        return PassageAnswer(question, self.text, found)

    def show_passage(self) -> None:
        view.show_passage(self.text, None)


@dataclass(frozen=True)
class PassageAnswer:
    question: str
    text: str
    prediction: Prediction

    def as_json(self, shown: int | None) -> dict[str, Any]:
        best = [asdict(candidate) for candidate in self.prediction.n_best[: shown or 1]]
        return asdict(self.prediction) | {"n_best": best}

    def show(self, shown: int | None) -> None:
        view.show_answer(self.question, self.text, self.prediction, shown or 1)

    def show_briefly(self) -> None:
        view.show_around(self.text, self.prediction)
        view.show_prediction(self.prediction)

    def show_more(self) -> None:
        view.show_candidates(self.prediction.n_best)

    def show_passage(self) -> None:
        view.show_passage(self.text, self.prediction)


@dataclass(frozen=True)
class ManyDocuments:
    reader: "Answerer"
    documents: "Documents"
    read: int  # pieces
    settings: dict[str, Any]  # of `Documents.answer`

    def answer(self, question: str, shown: int | None = None) -> "DocumentsAnswer":
        found = self.documents.answer(
            self.reader, question, max_passages=self.read, **self.settings
        )
        return DocumentsAnswer(question, self.documents, found, self.read)

    def show_passage(self) -> None:
        for name in self.documents.names:
            view.show_name(name)


@dataclass(frozen=True)
class DocumentsAnswer:
    question: str
    documents: "Documents"
    found: "Sequence[Found]"
    read: int

    def as_json(self, shown: int | None) -> dict[str, Any]:
        return view.found_as_json(self.found[: shown or FEW])

    def show(self, shown: int | None) -> None:
        pieces = min(self.read, self.documents.pieces)
        view.show_found(self.question, self.documents, self.found[: shown or FEW], pieces)

    def show_briefly(self) -> None:
        top = self.found[0]
        view.show_around(self.documents[top.passage], top.prediction)
        view.show_best(top)

    def show_more(self) -> None:
        view.show_list(self.found)

    def show_passage(self) -> None:
        top = self.found[0]
        view.show_name(top.passage)
        view.show_passage(self.documents[top.passage], top.prediction)


_PROMPT = "? "
_HELP = (
    "Type a question. /more shows other candidates, /passage the text, /help this line. "
    "Ctrl-C cancels, Ctrl-D ends."
)


def converse(asked: Asked, shown: int | None, *, as_json: bool) -> None:
    """Answer questions until the input ends: from the terminal, or one on each line."""
    with on_stderr(as_json):
        _converse(asked, shown, as_json=as_json)


def _converse(asked: Asked, shown: int | None, *, as_json: bool) -> None:
    in_terminal = sys.stdin.isatty()
    if in_terminal:
        with suppress(ImportError):  # not on every system
            import readline  # noqa: F401  gives `input` line editing and history
        console.print(_HELP, style="dim")
    last: Answered | None = None
    for line in _typed() if in_terminal else _lines():
        try:
            if line.startswith("/"):
                _command(line, asked, last, as_json=as_json)
                continue
            last = asked.answer(line, shown)
            if as_json:
                print_json(last.as_json(shown))
            else:
                if not in_terminal:  # where the user has just typed it
                    show_question(line)
                last.show_briefly()
                console.print()
            sys.stdout.flush()  # a program may wait for each answer
        except KeyboardInterrupt:
            if not in_terminal:
                raise
            forget_interrupt()
            console.print("cancelled", style="dim")


def _command(line: str, asked: Asked, last: Answered | None, *, as_json: bool) -> None:
    match line.split()[0]:
        case "/help":
            console.print(_HELP, style="dim")
        case "/passage":
            (last or asked).show_passage()
        case "/more" if last is not None and as_json:
            print_json(last.as_json(sys.maxsize))  # all that there are
            sys.stdout.flush()
        case "/more" if last is not None:
            last.show_more()
        case "/more":
            say("readlet: /more: there is no answer yet; ask a question first")
        case unknown:
            say(f"readlet: {unknown}: no such command; /help lists them")


def _typed() -> Iterator[str]:
    """What the user types, until Ctrl-D."""
    prompt = _PROMPT if sys.stdout.isatty() else ""  # a file gets the answers only
    while True:
        try:
            if not prompt:
                print(_PROMPT, end="", file=sys.stderr, flush=True)
            line = input(prompt).strip()
        except EOFError:
            console.print()
            return
        except KeyboardInterrupt:
            forget_interrupt()
            console.print()
            continue
        if line:
            yield line


def _lines() -> Iterator[str]:
    number = 0
    while True:
        number += 1
        try:
            line = sys.stdin.readline()
        except UnicodeDecodeError as error:
            fault = f"not {error.encoding.upper()} text"
            place, remedy = f"line {number}", "give the questions as UTF-8"
            raise bad_input("standard input", place, fault, remedy) from None
        if not line:
            return
        if line.strip():
            yield line.strip()
