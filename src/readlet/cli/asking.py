"""What questions are asked of: one passage, or many documents; and how their answers are shown."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol

from readlet.cli import answer_view as view
from readlet.cli.console import FEW
from readlet.types import N_BEST, Prediction

if TYPE_CHECKING:
    from readlet.reading.documents import Documents, Found
    from readlet.reading.reader_names import Answerer


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
