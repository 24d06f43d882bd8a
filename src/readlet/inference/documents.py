"""One question about many documents: BM25 finds the pieces worth reading, a reader reads them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from readlet.errors import ReadletError
from readlet.inference.inputs import DEFAULTS, MAX_PASSAGES, Answerer, AnswerOptions
from readlet.inference.retrieval import BM25, pieces
from readlet.types import Candidate, Example, Prediction

Key = int | str
Passages = Sequence[str] | Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Found:
    """A prediction and the document it is from; its offsets are those of the whole document."""

    passage: Key  # the number of the document in the sequence, or its name in the mapping
    prediction: Prediction
    relevance: float  # BM25 of the piece that was read: 0 if it shares no word with the question

    @property
    def best(self) -> Candidate | None:
        """The best candidate, also where the reader abstains."""
        return next(iter(self.prediction.n_best), None)


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
        self._texts = _named(passages)
        self._places: list[_Place] = []
        self._index = BM25(self._cut())

    def _cut(self) -> Iterator[list[str]]:
        """The words of each piece; its place is noted."""
        for key, text in self._texts.items():
            for piece in pieces(text):
                self._places.append(_Place(key, piece.start, piece.end))
                yield piece.words

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, passage: Key) -> str:
        return self._texts[passage]

    @property
    def names(self) -> list[Key]:
        return list(self._texts)

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

        Answers come first, each by the probability that it is right, then by relevance.
        An answer that a document gives twice is listed once. With `always_answer` the reader never
        abstains, but a piece is not taken to have an answer.

        Limits: an answer in a piece that is not read is not found; the first step compares words,
        so a question in other words, or in another language than the documents, may miss it. Each
        piece is read on its own: its scores do not know of the others, and the highest of many is
        more often wrong than a single one of that height.
        """
        if max_passages < 1:
            raise ReadletError(f"max_passages: {max_passages}; must be at least 1")
        relevance = self._index.scores(question)
        chosen = np.argsort(-relevance, kind="stable")[:max_passages].tolist()
        places = [self._places[number] for number in chosen]
        asked = [
            Example("", question, self._texts[place.document][place.start : place.end])
            for place in places
        ]
        if options.always_answer:
            # Not as if every piece had an answer: that would make all scores high.
            options = options.changed(always_answer=False, threshold=1.0)
        predictions = reader.answer_batch(asked, options)
        found = [
            Found(place.document, _shifted(prediction, place.start), float(relevance[number]))
            for number, place, prediction in zip(chosen, places, predictions, strict=True)
        ]
        found.sort(key=_rank)  # stable: equal ones stay in the order of relevance
        distinct: dict[tuple[Key, str], Found] = {}
        for one in found:
            distinct.setdefault((one.passage, one.best.text if one.best else ""), one)
        return list(distinct.values())


def _rank(found: Found) -> tuple[bool, float]:
    """Answers before "no answer", each by score."""
    return found.prediction.abstained, -found.prediction.score


def _named(passages: Passages) -> dict[Key, str]:
    remedy = "give a sequence of texts, or a mapping from names to texts"
    items: Iterable[tuple[Key, str]]
    if isinstance(passages, Mapping):
        items = passages.items()
    elif isinstance(passages, Sequence) and not isinstance(passages, (str, bytes)):
        items = enumerate(passages)
    else:
        raise ReadletError(f"passages: a {type(passages).__name__}; {remedy}")
    named: dict[Key, str] = dict(items)
    for key, text in named.items():
        if not isinstance(text, str):
            kind = type(text).__name__
            raise ReadletError(f"passage {key!r}: is a {kind}, not text; {remedy}")
    return named


def _shifted(prediction: Prediction, by: int) -> Prediction:
    """The same prediction with the offsets of a text that has `by` characters before."""
    best = tuple(replace(c, start=c.start + by, end=c.end + by) for c in prediction.n_best)
    if prediction.abstained:
        return replace(prediction, n_best=best)
    start, end = prediction.start + by, prediction.end + by
    return replace(prediction, start=start, end=end, n_best=best)
