"""From a model's scores to answers: windows are read in batches and joined again.

Memory is bounded by the batch and by the number of answers kept, never by the scores.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from readlet.encoding.batches import Batches, FormTables, shapes
from readlet.encoding.features import Features
from readlet.models.qacnn import QACNN, SpanScores
from readlet.nn.softmax import masked_log_sum
from readlet.reading.calibration import Calibration
from readlet.reading.decoding import best_spans
from readlet.recipe.recipe import Data
from readlet.types import N_BEST, Candidate, Example, Prediction

# Spans kept of each window for every answer that is asked for: some of them have the same text.
_SPARE = 4


@dataclass(frozen=True)
class WindowAnswers:
    """What is kept of a window: its best spans in words of the context, and its totals."""

    spans: list[tuple[float, int, int]]  # score, first word, last word
    null: tuple[float, float] | None  # scores of "no answer", as a first and as a last word
    log_start: float  # log of the sum of exp(start / temperature) over the words
    log_end: float


@dataclass(frozen=True)
class Predictor:
    """A model with all that is needed to turn features into predictions."""

    model: QACNN
    data: Data
    null: bool
    calibration: Calibration
    batch_size: int = 32
    n_best: int = N_BEST

    def predict(self, examples: Sequence[Example], features: Features) -> list[Prediction]:
        """One prediction for every example, in order."""
        windows: list[list[WindowAnswers]] = [[] for _ in examples]
        for row, answers in self._windows(features):
            windows[int(features.row_example[row])].append(answers)
        pairs = zip(features.row_example.tolist(), features.row_context.tolist(), strict=True)
        texts = dict(pairs)  # the context of each example
        return [
            self._join(example, features, texts[number], windows[number])
            for number, example in enumerate(examples)
        ]

    def scores(
        self, features: Features, only_fullest: bool = False
    ) -> Iterator[tuple[Tensor, SpanScores]]:
        """Row numbers and scores of one batch after the other, on the CPU; or of one alone."""
        device = next(self.model.parameters()).device
        listed = shapes(self.data.max_context, self.data.max_question, null=self.null)
        batches = Batches(features, listed, self.batch_size, null=self.null)
        tables = FormTables(features).to(device)
        self.model.eval()
        self.model.read_characters(tables)
        # Compiling for this mode too would cost more than it saves.
        with torch.inference_mode(), torch.compiler.set_stance("force_eager"):
            listed_batches = batches.in_order()
            if only_fullest:
                listed_batches = [max(listed_batches, key=lambda batch: len(batch[1]))]
            for shape, rows in listed_batches:
                batch = batches.make(shape, rows)
                scores = self.model(batch.to(device), tables)
                yield batch.rows, SpanScores(*(part.cpu() for part in scores))

    def words_of(self, scores: SpanScores) -> Tensor:
        """Places where an answer may be: all that are kept but that of "no answer"."""
        allowed = scores.keep.clone()  # (B, L)
        allowed[:, : int(self.null)] = False
        return allowed

    def _windows(self, features: Features) -> Iterator[tuple[int, WindowAnswers]]:
        heat = self.calibration.temperature
        for rows, scores in self.scores(features):
            allowed = self.words_of(scores)  # (B, L)
            found = best_spans(
                scores.start, scores.end, allowed, self.data.max_answer, self.n_best * _SPARE
            )
            log_start = masked_log_sum(scores.start / heat, allowed)  # (B,)
            log_end = masked_log_sum(scores.end / heat, allowed)  # (B,)
            for i, row in enumerate(rows.tolist()):
                if row < 0:  # filler
                    continue
                shift = int(features.row_window[row, 0]) - self.null
                columns = (found.score[i], found.first[i], found.last[i], found.exists[i])
                spans = [
                    (score, first + shift, last + shift)
                    for score, first, last, exists in zip(
                        *(column.tolist() for column in columns), strict=True
                    )
                    if exists
                ]
                null = (float(scores.start[i, 0]), float(scores.end[i, 0])) if self.null else None
                yield row, WindowAnswers(spans, null, float(log_start[i]), float(log_end[i]))

    def _join(
        self, example: Example, features: Features, text: int, windows: list[WindowAnswers]
    ) -> Prediction:
        heat = self.calibration.temperature
        offsets = features.offsets[features.text(text)]  # (words, 2)
        # Overlapping windows may give the same place twice, and a text may stand in two places.
        best: dict[str, tuple[float, int, int]] = {}
        for score, first, last in sorted(
            {span for window in windows for span in window.spans}, reverse=True
        ):
            start, end = int(offsets[first, 0]), int(offsets[last, 1])
            best.setdefault(example.context[start:end], (score, start, end))
            if len(best) == self.n_best:
                break
        if not best or not example.question.strip():
            return Prediction("", 0, 0, 1.0, 1.0)
        nulls = [window.null for window in windows if window.null is not None]
        # The question has no answer only if every window says so: the surest of an answer decides,
        # and counts once, or confidence would fall with every window that has none.
        null = min(nulls, key=sum, default=None)
        places = [(w.log_start, w.log_end) for w in windows]
        total = log_total(places, None if null is None else (null[0] / heat, null[1] / heat))
        candidates = tuple(
            Candidate(answer, start, end, math.exp(min(score / heat - total, 0.0)))
            for answer, (score, start, end) in best.items()
        )
        top_score = next(iter(best.values()))[0]
        no_answer = self.calibration.no_answer(sum(null) - top_score) if null else 0.0
        if no_answer > self.calibration.no_answer_threshold:
            return Prediction("", 0, 0, no_answer, no_answer, candidates)
        top = candidates[0]
        return Prediction(top.text, top.start, top.end, top.score, no_answer, candidates)


def log_total(windows: Sequence[tuple[float, float]], null: tuple[float, float] | None) -> float:
    """Log of what all spans weigh: from a word of a window to another, or to "no answer".

    Not across windows, where no span is: they would count the more, the longer the text.
    """
    if null is None:
        return _log_sum([start + end for start, end in windows])
    with_null = ((start + end, start + null[1], null[0] + end) for start, end in windows)
    return _log_sum([sum(null), *(weight for weights in with_null for weight in weights)])


def _log_sum(values: list[float]) -> float:
    highest = max(values)
    return highest + math.log(sum(math.exp(value - highest) for value in values))
