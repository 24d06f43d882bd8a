"""From scores to answers: rows are scored in batches, and the windows of a context are joined.

Memory grows with the batch size and the number of answers kept, not with all scores.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from readlet.inference.calibration import Calibration
from readlet.inference.decoding import log_sums, spans_in_order
from readlet.inference.inputs import DEFAULTS, AnswerOptions
from readlet.models.family import Floats, SpanScorer, SpanScores
from readlet.text.rows import Ints, Rows
from readlet.types import Candidate, Example, Prediction


class ScoredSpan(NamedTuple):
    score: float
    start: int  # in characters of the context
    end: int


@dataclass(frozen=True)
class WindowAnswers:
    """The result of one window: its best spans, one for each text, and its totals."""

    spans: list[ScoredSpan]
    null: tuple[float, float] | None  # scores of "no answer" as a start and as an end
    log_start: float  # log of the sum of exp(start / temperature) over the places
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
        # Overlapping windows may give the same span twice, and a text may occur twice.
        best: dict[str, ScoredSpan] = {}
        found = {span for window in windows for span in window.spans}
        for span in sorted(found, key=lambda span: (-span.score, span.start, span.end)):
            best.setdefault(example.context[span.start : span.end], span)
            if len(best) == self.options.n_best:
                break
        if not best or not example.question.strip():
            return Prediction.choose((), 1.0, 0.0)
        total = log_total([(window.log_start, window.log_end) for window in windows])
        shares = [math.exp(min(span.score / temperature - total, 0.0)) for span in best.values()]
        candidates = [
            Candidate(text, span.start, span.end, probability)
            for (text, span), probability in zip(
                best.items(), self.calibration.of_answers(shares), strict=True
            )
        ]
        given, fitted = self.options.threshold, self.calibration.no_answer_threshold
        threshold = fitted if given is None else given
        return Prediction.choose(candidates, self._no_answer(windows, best), threshold)

    def _no_answer(self, windows: list[WindowAnswers], best: dict[str, ScoredSpan]) -> float:
        nulls = [sum(window.null) for window in windows if window.null is not None]
        if self.options.always_answer or not nulls:
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
    """The n best spans of a row with distinct texts, in characters; fewer if there are fewer."""
    best: dict[str, ScoredSpan] = {}
    for score, first, last in spans_in_order(start, end, allowed, max_places):
        span = ScoredSpan(score, int(places[first, 0]), int(places[last, 1]))
        best.setdefault(context[span.start : span.end], span)
        if len(best) == n:
            break
    return list(best.values())


def log_total(windows: Sequence[tuple[float, float]]) -> float:
    """Log of the total weight of all spans: pairs of places of the same window.

    Not across windows, where there are no spans: their weight would grow with the text.
    """
    return _log_sum([start + end for start, end in windows])


def _log_sum(values: list[float]) -> float:
    highest = max(values)
    return highest + math.log(sum(math.exp(value - highest) for value in values))
