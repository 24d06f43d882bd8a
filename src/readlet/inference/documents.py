"""One question about many documents: BM25 finds the pieces worth reading, a reader reads them.

Each question has one probability, which the pieces and "none of them" share: that a piece has the
answer depends on its relevance to the question and on what the reader makes of it
(`DocumentOdds`). So all scores and `no_answer` add up to at most 1.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from readlet.errors import ReadletError
from readlet.inference.document_text import DocumentText
from readlet.inference.inputs import DEFAULTS, MAX_PASSAGES, Answerer, AnswerOptions
from readlet.inference.retrieval import BM25, pieces
from readlet.text.words import words
from readlet.types import Candidate, Example, Prediction

Key = int | str
Passages = Sequence[str] | Mapping[str, str] | Mapping[str, DocumentText]


@dataclass(frozen=True, slots=True)
class Found:
    """A prediction and the document it is from; its offsets are those of the whole document.

    >>> texts = {"kiln": "Ada Brook built the kiln.", "mill": "The mill burned down in 1902."}
    >>> first, *others = Reader.load().answer_any("Who built the kiln?", texts)
    >>> first.passage, first.best.text
    ('kiln', 'Ada Brook')
    """

    passage: Key  # the number of the document in the sequence, or its name in the mapping
    # `no_answer` is the probability that none of the pieces has an answer.
    prediction: Prediction
    # Of the piece that was read: 0 if it shares no word with the question, see `BM25.relevance`.
    relevance: float

    @property
    def best(self) -> Candidate | None:
        """The best candidate, also where the reader abstains."""
        return next(iter(self.prediction.n_best), None)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A piece that was read, and the reader's prediction for it alone, with the piece's offsets."""

    document: Key
    start: int  # of the piece in the document
    end: int
    relevance: float
    prediction: Prediction


@dataclass(frozen=True, slots=True)
class _Place:
    document: Key
    start: int
    end: int


class Documents:
    """Documents, cut into pieces and indexed once, for any number of questions.

    The documents and their index are in memory: about 16 bytes for each word besides the text.

    >>> from readlet import Reader
    >>> documents = Documents(["Ada Brook built the kiln.", "The mill burned down in 1902."])
    >>> documents.answer(Reader.load(), "When did the mill burn down?")[0].passage
    1
    """

    def __init__(self, passages: Passages) -> None:
        self._documents = _named(passages)
        self._places: list[_Place] = []
        self._index = BM25(self._cut())

    def _cut(self) -> Iterator[list[str]]:
        """The words of each piece; its place is noted."""
        for key, document in self._documents.items():
            for piece in pieces(document.text, document.row_cuts):
                self._places.append(_Place(key, piece.start, piece.end))
                yield piece.words

    def __len__(self) -> int:
        return len(self._documents)

    def __getitem__(self, passage: Key) -> str:
        return self._documents[passage].text

    def document(self, passage: Key) -> DocumentText:
        """The text with the names of its parts."""
        return self._documents[passage]

    @property
    def names(self) -> list[Key]:
        return list(self._documents)

    @property
    def pieces(self) -> int:
        return len(self._places)

    def answer(
        self,
        reader: Answerer,
        question: str,
        options: AnswerOptions = DEFAULTS,
        *,
        max_passages: int = MAX_PASSAGES,
    ) -> list[Found]:
        """Predictions of the `max_passages` most relevant pieces, best first.

        The score of an answer is the probability that its piece is the one that has the answer,
        times the reader's own that this span is right if the piece has one. Where "none of them" is
        too likely for `min_confidence`, the reader abstains: then all predictions do. An answer
        that a document gives twice is listed once. `unanswerable_share` is that of questions that
        no document answers; at 0, one of the pieces is taken to have the answer.

        Limits: an answer in a piece that is not read is not found; the first step compares words,
        so a question in other words, or in another language than the documents, may miss it.
        """
        read = self.read(reader, question, options, max_passages=max_passages)
        shares, none = _shares(reader, read, options)
        found = [
            Found(
                piece.document, _shared(piece.prediction, share, none, piece.start), piece.relevance
            )
            for piece, share in zip(read, shares, strict=True)
        ]
        found.sort(key=lambda one: -one.prediction.score)  # stable: then in the order of relevance
        if found:
            best = found[0].prediction
            if reader.takes_unanswerable_share:
                is_given = best.score >= options.level * (best.score + best.no_answer)
            else:  # it has no probabilities to compare
                is_given = any(not piece.prediction.abstained for piece in read)
            limit = 1.0 if is_given else -1.0
            found = [replace(one, prediction=one.prediction.at_threshold(limit)) for one in found]
        distinct: dict[tuple[Key, str], Found] = {}
        for one in found:
            distinct.setdefault((one.passage, one.best.text if one.best else ""), one)
        return list(distinct.values())

    def read(
        self,
        reader: Answerer,
        question: str,
        options: AnswerOptions = DEFAULTS,
        *,
        max_passages: int = MAX_PASSAGES,
    ) -> list[Evidence]:
        """The most relevant pieces, each with what the reader makes of it alone."""
        if max_passages < 1:
            raise ReadletError(f"max_passages: {max_passages}; must be at least 1")
        relevance = self._index.relevance(words(question))
        chosen = np.argsort(-relevance, kind="stable")[:max_passages].tolist()
        places = [self._places[number] for number in chosen]
        asked = [
            Example("", question, self[place.document][place.start : place.end]) for place in places
        ]
        # What a piece is evidence for does not depend on how often questions have no answer.
        alone = options.changed(unanswerable_share=None)
        return [
            Evidence(place.document, place.start, place.end, weight, prediction)
            for place, weight, prediction in zip(
                places, relevance[chosen].tolist(), reader.answer_batch(asked, alone), strict=True
            )
        ]


def _shares(
    reader: Answerer, read: Sequence[Evidence], options: AnswerOptions
) -> tuple[list[float], float]:
    """The probabilities that each piece has the answer, and that none has."""
    odds = reader.document_odds
    if options.unanswerable_share:
        if not reader.takes_unanswerable_share:
            fault = f"unanswerable-share: {reader.name} has no probabilities to move"
            raise ReadletError(f"{fault}; leave it out")
        odds = odds.assuming(options.unanswerable_share)
    relevance = [one.relevance for one in read]
    shares, none = odds.shares(relevance, [one.prediction.no_answer for one in read])
    if options.unanswerable_share != 0.0:
        return shares, none
    total = sum(shares)
    return [share / total for share in shares] if total else shares, 0.0


def _shared(one: Prediction, share: float, none: float, by: int) -> Prediction:
    """The prediction of a piece with its share, and with the offsets of the whole document."""
    given = 1.0 - one.no_answer  # the probability that its scores share
    factor = share / given if given > 0.0 else 0.0
    best = tuple(
        replace(c, start=c.start + by, end=c.end + by, score=c.score * factor) for c in one.n_best
    )
    score = best[0].score if best else 0.0
    return Prediction("", 0, 0, score, none, True, best, one.unknown_language)


def _named(passages: Passages) -> dict[Key, DocumentText]:
    remedy = "give a sequence of texts, or a mapping from names to texts"
    items: Iterable[tuple[Key, str | DocumentText]]
    if isinstance(passages, Mapping):
        items = passages.items()
    elif isinstance(passages, Sequence) and not isinstance(passages, (str, bytes)):
        items = enumerate(passages)
    else:
        raise ReadletError(f"passages: a {type(passages).__name__}; {remedy}")
    named: dict[Key, DocumentText] = {}
    for key, given in items:
        if not isinstance(given, (str, DocumentText)):
            kind = type(given).__name__
            raise ReadletError(f"passage {key!r}: is a {kind}, not text; {remedy}")
        named[key] = DocumentText(given) if isinstance(given, str) else given
    return named
