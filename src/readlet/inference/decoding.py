"""From scores to answers: exact search for the best spans; the windows of a context are joined.

Masked scores in NumPy are handled as in `nn/softmax.py` for tensors: True means keep. Memory grows
with the batch size and the number of answers kept, not with all scores.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from readlet.inference.calibration import Calibration
from readlet.inference.inputs import DEFAULTS, AnswerOptions, ForeignLanguages
from readlet.models.family import Floats, SpanScorer, SpanScores
from readlet.text.passages import outline, sentence_span
from readlet.text.rows import LONG_QUESTION, Ints, Rows
from readlet.types import Candidate, Example, Prediction

NOTHING = -np.inf
"""The score of a position that may not be part of an answer: its probability is 0."""


def masked(scores: Floats, keep: NDArray[np.bool_]) -> Floats:
    """The scores that are kept; NOTHING elsewhere."""
    return np.where(keep, scores, np.float32(NOTHING))


def log_sums(scores: Floats, keep: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Log of the sum of exp over the kept positions of each row, (B, L) -> (B,).

    NOTHING for a row that keeps none.
    """
    values = masked(scores, keep).astype(np.float64)  # (B, L)
    highest = values.max(axis=1, keepdims=True, initial=NOTHING)  # (B, 1)
    shifted = values - np.where(np.isfinite(highest), highest, 0.0)  # (B, L)
    with np.errstate(divide="ignore"):  # log(0) is NOTHING
        sums: NDArray[np.float64] = np.log(np.exp(shifted).sum(axis=1)) + highest[:, 0]
    return sums


class PlaceSpan(NamedTuple):
    score: float
    first: int
    last: int


def spans_in_order(
    start: Floats, end: Floats, allowed: NDArray[np.bool_], max_places: int
) -> Iterator[PlaceSpan]:
    """Every span i <= j < i + max_places with allowed ends, by start[i] + end[j], best first.

    All three are (L,). Equal scores go to the earliest span, then to the shortest, whatever the
    padding. Only the band of `max_places` diagonals is computed.
    """
    scores = _band(start, end, allowed, allowed, max_places)  # (L, K)
    band = scores.shape[1]
    scores = scores.ravel()  # (L * K,) by first place, then by length
    for index in np.argsort(-scores, kind="stable").tolist():
        if scores[index] == NOTHING:
            return
        first, length = divmod(index, band)
        yield PlaceSpan(float(scores[index]), first, first + length)


def _band(
    start: Floats,
    end: Floats,
    may_begin: NDArray[np.bool_],
    may_end: NDArray[np.bool_],
    max_places: int,
) -> Floats:
    """start[i] + end[i + k], (L, K); NOTHING where that is not a span."""
    places = int(may_end.nonzero()[0][-1]) + 1 if may_end.any() else 0
    if not places:
        return np.zeros((0, 1), np.float32)
    band = min(max_places, places)
    starts = masked(start[:places], may_begin[:places])  # (L,)
    beyond = np.full(band - 1, NOTHING, np.float32)  # (K - 1,)
    reach = np.concatenate([masked(end[:places], may_end[:places]), beyond])  # (L + K - 1,)
    ends = sliding_window_view(reach, band)  # (L, K): row i has positions i, i + 1, ...
    with np.errstate(invalid="ignore"):  # infinite scores of both signs
        scores = starts[:, None] + ends  # (L, K)
    return masked(scores, scores > NOTHING)  # a NaN counts as no score


class ScoredSpan(NamedTuple):
    score: float
    start: int  # in characters of the context
    end: int


class Answered(NamedTuple):
    """The predictions of a chunk of questions, and how many of these were too long."""

    predictions: list[Prediction]
    cut: int


@dataclass(frozen=True)
class AnswerChunk:
    """Questions to predictions: they are encoded, scored and decoded together."""

    predictor: "Predictor"
    foreign: ForeignLanguages

    def __call__(self, examples: list[Example]) -> Answered:
        rows = self.predictor.scorer.encoder.encode(examples)
        found = self.predictor.predict(examples, rows)
        for number, example in enumerate(examples):
            if language := self.foreign.of(example):
                found[number] = replace(found[number], unknown_language=language)
        return Answered(found, len(rows.notes.get(LONG_QUESTION, ())))


@dataclass(frozen=True)
class WindowAnswers:
    """The result of one window: its best spans, one for each text, and its totals."""

    spans: list[ScoredSpan]
    null: tuple[float, float] | None  # scores of "no answer" as a start and as an end
    log_start: float  # log of the sum of exp(start / temperature) over the positions
    log_end: float


@dataclass(frozen=True)
class Predictor:
    """A scorer with the settings that turn its scores into predictions."""

    scorer: SpanScorer
    calibration: Calibration
    batch_size: int = 32
    options: AnswerOptions = DEFAULTS

    def predict(self, examples: Sequence[Example], rows: Rows) -> list[Prediction]:
        """One prediction for every example, in order."""
        windows: list[list[WindowAnswers]] = [[] for _ in examples]
        for numbers, scores in self.scorer.scores(rows, self.batch_size):
            for row, answers in self.windows(examples, rows, numbers, scores):
                windows[int(rows.row_example[row])].append(answers)
        return [
            self.join(example, answers) for example, answers in zip(examples, windows, strict=True)
        ]

    def windows(
        self, examples: Sequence[Example], rows: Rows, numbers: Ints, scores: SpanScores
    ) -> Iterator[tuple[int, WindowAnswers]]:
        """Each row of a batch with the answers of its window."""
        temperature = self.calibration.temperature
        log_start = log_sums(scores.start / temperature, scores.allowed)  # (B,)
        log_end = log_sums(scores.end / temperature, scores.allowed)  # (B,)
        for i, row in enumerate(numbers.tolist()):
            spans = best_spans(
                scores.start[i],
                scores.end[i],
                scores.allowed[i],
                rows.places(row),
                examples[int(rows.row_example[row])].context,
                max_places=self.scorer.max_answer,
                n=self.options.n_best,
            )
            null = scores.null_of(i)
            yield row, WindowAnswers(spans, null, float(log_start[i]), float(log_end[i]))

    def join(self, example: Example, windows: list[WindowAnswers]) -> Prediction:
        """The prediction for an example from all its windows."""
        temperature = self.calibration.temperature
        best: dict[str, ScoredSpan] = {}
        taken: list[ScoredSpan] = []
        found = {span for window in windows for span in window.spans}
        for span in sorted(found, key=lambda span: (-span.score, span.start, span.end)):
            if any(span.start < other.end and other.start < span.end for other in taken):
                continue
            taken.append(span)
            best.setdefault(example.context[span.start : span.end], span)
            if len(best) == self.options.n_best:
                break
        if not best or not example.question.strip():
            return Prediction.choose((), 1.0, 0.0)
        total = log_total([(window.log_start, window.log_end) for window in windows])
        shares = [math.exp(min(span.score / temperature - total, 0.0)) for span in best.values()]
        candidates = [
            Candidate(
                text,
                span.start,
                span.end,
                probability,
                example.context[slice(*sentence_span(example.context, span.start, span.end))],
            )
            for (text, span), probability in zip(
                best.items(), self.calibration.of_answers(shares), strict=True
            )
        ]
        return Prediction.choose(candidates, self._no_answer(windows, best), self.options.level)

    def _no_answer(self, windows: list[WindowAnswers], best: dict[str, ScoredSpan]) -> float:
        nulls = [sum(window.null) for window in windows if window.null is not None]
        if self.options.unanswerable_share == 0.0 or not nulls:
            return 0.0
        # A question has no answer only if no window has one: the lowest null score decides.
        lead = min(nulls) - next(iter(best.values())).score
        return self.calibration.no_answer(lead, len(nulls))


def best_spans(
    start: Floats,
    end: Floats,
    allowed: NDArray[np.bool_],
    places: Ints,
    context: str,
    *,
    max_places: int,
    n: int,
) -> list[ScoredSpan]:
    """The n best answers of a row, in characters; fewer if there are fewer.

    An answer is made of whole words of one paragraph, line or cell (`text/passages.py`). Each is
    the best one that overlaps none of the earlier ones, in the order of `spans_in_order`; a text is
    listed once. Where there is no such span, as in one long word, any span is an answer.
    """
    scores = _answers(start, end, allowed, places, context, max_places)  # (L, K)
    best: dict[str, ScoredSpan] = {}
    band = np.arange(scores.shape[1])  # (K,)
    while scores.size and len(best) < n:
        index = int(scores.argmax())  # ties go to the first
        first, length = divmod(index, len(band))
        score = float(scores[first, length])
        if score == NOTHING:
            break
        last = first + length
        span = ScoredSpan(score, int(places[first, 0]), int(places[last, 1]))
        best.setdefault(context[span.start : span.end], span)
        begin = max(first - len(band) + 1, 0)
        near = scores[begin : last + 1]  # those that begin before its end
        near[np.arange(begin, last + 1)[:, None] + band >= first] = NOTHING
    return list(best.values())


def _answers(
    start: Floats,
    end: Floats,
    allowed: NDArray[np.bool_],
    places: Ints,
    context: str,
    max_places: int,
) -> Floats:
    """Scores of the spans that are answers, (L, K)."""
    count, marks = len(places), outline(context)
    start, end, allowed = start[:count], end[:count], allowed[:count]  # (L,)
    begins, ends = allowed & marks.may_begin(places), allowed & marks.may_end(places)  # (L,)
    scores = _band(start, end, begins, ends, max_places)  # (L, K)
    if scores.size:
        parts = marks.part_of(places)[: len(scores)]  # (L,)
        beyond = np.full(scores.shape[1] - 1, -1)  # (K - 1,)
        reached = sliding_window_view(np.concatenate([parts, beyond]), scores.shape[1])  # (L, K)
        scores[reached != parts[:, None]] = NOTHING
        least, stops = marks.least_end(places), places[: len(scores), 1]  # (L,) each
        reached = sliding_window_view(np.concatenate([stops, beyond]), scores.shape[1])  # (L, K)
        scores[reached < least[: len(scores), None]] = NOTHING
        if (scores > NOTHING).any():
            return scores
    return _band(start, end, allowed, allowed, max_places)


def log_total(windows: Sequence[tuple[float, float]]) -> float:
    """Log of the total weight of all spans: pairs of positions of the same window.

    Not across windows, where there are no spans: their weight would grow with the text.
    """
    return _log_sum([start + end for start, end in windows])


def _log_sum(values: list[float]) -> float:
    highest = max(values)
    return highest + math.log(sum(math.exp(value - highest) for value in values))
