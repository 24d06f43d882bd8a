"""Questions about documents of any size: they are indexed, and the best pieces are read."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from readlet.errors import ReadletError
from readlet.inference.calibration import DocumentOdds
from readlet.inference.document_text import DocumentText
from readlet.inference.documents import Documents
from readlet.inference.inputs import (
    DEFAULTS,
    Answerer,
    AnswerOptions,
    Asked,
    as_examples,
)
from readlet.serve.messages import AskResponse, Limits, LocatedCandidate
from readlet.serve.registry import Question, ServedReader
from readlet.text.passages import place_of
from readlet.types import Candidate, Prediction, certainty_of


class Shelf:
    """A cache of the last documents with their indexes, for further questions about them."""

    def __init__(self, limits: Limits) -> None:
        self._most = limits.indexed_characters
        self._kept: OrderedDict[bytes, Documents] = OrderedDict()
        self._lock = threading.Lock()  # one is indexed at a time

    def documents(self, texts: Mapping[str, DocumentText]) -> Documents:
        digest = hashlib.sha256()
        for name, document in texts.items():
            cuts = " ".join(map(str, document.row_cuts))
            for part in (name, document.text, cuts):
                encoded = part.encode()
                digest.update(b"%d:" % len(encoded) + encoded)
        key = digest.digest()
        with self._lock:
            if key not in self._kept:
                self._kept[key] = Documents(texts)
            self._kept.move_to_end(key)
            while len(self._kept) > 1 and self._size() > self._most:
                self._kept.popitem(last=False)
            return self._kept[key]

    def _size(self) -> int:
        return sum(len(kept[name]) for kept in self._kept.values() for name in kept.names)


@dataclass
class QueuedReader(Answerer):
    """A reader behind its queue, which other requests share."""

    served: ServedReader
    futures: list["Future[Prediction]"] = field(default_factory=list)
    is_cancelled: bool = False

    @property
    def name(self) -> str:
        return self.served.model.name

    @property
    def takes_unanswerable_share(self) -> bool:
        return self.served.model.takes_unanswerable_share

    @property
    def document_odds(self) -> DocumentOdds:
        return self.served.model.document_odds

    def answer_batch(
        self, asked: Iterable[Asked], options: AnswerOptions = DEFAULTS, **given: Any
    ) -> Iterator[Prediction]:
        if self.is_cancelled:
            return
        chosen = options.changed(**given)
        examples = as_examples(asked)
        self.futures = self.served.answers.submit([Question(one, chosen) for one in examples])
        yield from (future.result() for future in self.futures)

    def cancel(self) -> None:
        self.is_cancelled = True
        for future in self.futures:
            future.cancel()


def answer_documents(
    name: str,
    reader: QueuedReader,
    shelf: Shelf,
    texts: Mapping[str, DocumentText],
    question: str,
    options: AnswerOptions,
    limits: Limits,
) -> AskResponse:
    """The answer and the candidates with their places; a short text is read as a whole."""
    ((only, first), *others) = texts.items()
    located: list[tuple[str, Candidate]]
    # In a table read as a whole, readers mix the rows up.
    if not others and len(first.text) <= limits.passage_characters and not first.row_cuts:
        top = reader.answer(question, first.text, options)
        located = [(only, candidate) for candidate in top.n_best]
        read = pieces = 1
    else:
        documents = shelf.documents(texts)
        pieces = documents.pieces
        if not pieces:
            raise ReadletError("documents: no words in them; give text")
        found = documents.answer(reader, question, options)
        top, read = found[0].prediction, min(len(found), pieces)
        best = [(str(one.passage), one.best) for one in found]
        located = [(where, candidate) for where, candidate in best if candidate is not None]
    return AskResponse(
        reader=name,
        text=top.text,
        score=top.score,
        no_answer=top.no_answer,
        abstained=top.abstained,
        unknown_language=top.unknown_language,
        certainty=top.certainty,
        candidates=[
            _located(where, texts[where], candidate)
            for where, candidate in located[: options.n_best]
        ],
        pieces=pieces,
        read=read,
    )


def _located(name: str, document: DocumentText, candidate: Candidate) -> LocatedCandidate:
    place = place_of(document.text, candidate.start, candidate.end)
    return LocatedCandidate(
        document=name,
        text=candidate.text,
        start=candidate.start,
        end=candidate.end,
        score=candidate.score,
        certainty=certainty_of(candidate.score),
        sentence=place.sentence,
        sentence_start=place.start,
        line=place.line,
        place=document.place(candidate.start),
    )
