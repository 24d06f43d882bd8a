"""Fit a reader's calibration on held-out questions."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from torch import Tensor

from readlet.encoding.features import Features
from readlet.metrics.calibration_error import expected_calibration_error
from readlet.metrics.squad import best_thresholds, exact_match, score_questions
from readlet.reading.calibration import Calibration, fit_no_answer, fit_temperature, logit
from readlet.reading.decoding import best_spans
from readlet.reading.predictor import Predictor, log_total
from readlet.types import Example, Prediction

# More questions change the second digit of the temperature at most, and cost memory.
MAX_QUESTIONS = 2000
# With fewer questions of a kind the fit would follow chance: the defaults are better.
MIN_QUESTIONS = 30
TOO_FEW = f"fewer than {MIN_QUESTIONS} answerable questions"
TOO_FEW_OF_A_KIND = f"fewer than {MIN_QUESTIONS} questions with, or without, an answer"
"""Why nothing was fitted, or no refusals, for those who tell."""


def calibrate(predictor: Predictor, examples: Sequence[Example], features: Features) -> Calibration:
    """Temperature by the answerable questions, refusals by all of them."""
    predictor = replace(predictor, calibration=Calibration(no_answer_threshold=1.0))
    said = predictor.predict(examples, features)
    # A passage without words or an empty question is refused whatever the temperature.
    answerable = [n for n, e in enumerate(examples) if e.answers and said[n].n_best]
    if len(answerable) < MIN_QUESTIONS:
        return Calibration()
    correct = [
        max(exact_match(said[number].text, gold.text) for gold in examples[number].answers)
        for number in answerable
    ]
    evidence = _evidence(predictor, features, answerable)

    def confidences(temperature: float) -> list[float]:
        return [evidence[number].confidence(temperature) for number in answerable]

    temperature = fit_temperature(confidences, correct)
    fitted = Calibration(
        temperature=temperature,
        questions=len(examples),
        error_before=expected_calibration_error(confidences(1.0), correct),
        error_after=expected_calibration_error(confidences(temperature), correct),
    )
    if not predictor.null:
        return fitted
    return _with_refusals(fitted, examples, said)


def _with_refusals(
    usual: Calibration, examples: Sequence[Example], said: Sequence[Prediction]
) -> Calibration:
    """The no-answer probability, and the one above which refusing gives the best F1.

    Of what was said before a temperature was known: none of this depends on it.
    """
    impossible = [not example.answers for example in examples]
    if min(sum(impossible), len(examples) - sum(impossible)) < MIN_QUESTIONS:
        return usual
    slope, bias = fit_no_answer([logit(p.no_answer) for p in said], impossible)
    fitted = usual.model_copy(update={"no_answer_slope": slope, "no_answer_bias": bias})
    answers = {e.id: p.text for e, p in zip(examples, said, strict=True)}
    na_probs = {
        e.id: fitted.no_answer(logit(p.no_answer)) for e, p in zip(examples, said, strict=True)
    }
    best = best_thresholds(score_questions(examples, answers, "2.0"), na_probs)
    # It is the probability of the last question that is answered: the next one like it may lie a
    # hair above. The middle of the gap to the first that is refused does as well here.
    last = best["best_f1_thresh"]
    refused = min((p for p in na_probs.values() if p > last), default=1.0)
    return fitted.model_copy(update={"no_answer_threshold": (last + refused) / 2})


class _Evidence(NamedTuple):
    """What one question's confidence depends on."""

    best: float  # score of the best span
    windows: list[tuple[Tensor, Tensor]]  # start and end scores of the words of each, (words,)
    null: tuple[float, float] | None  # as the predictor counts: that of the window surest of one

    def joined(self, other: "_Evidence") -> "_Evidence":
        """That of one more window."""
        null = min((n for n in (self.null, other.null) if n is not None), key=sum, default=None)
        return _Evidence(max(self.best, other.best), [*self.windows, *other.windows], null)

    def confidence(self, temperature: float) -> float:
        """The probability that the predictor gives its first answer at this temperature."""
        places = [
            (float((start / temperature).logsumexp(0)), float((end / temperature).logsumexp(0)))
            for start, end in self.windows
        ]
        null = None
        if self.null is not None:
            null = self.null[0] / temperature, self.null[1] / temperature
        return math.exp(min(self.best / temperature - log_total(places, null), 0.0))


def _evidence(
    predictor: Predictor, features: Features, wanted: Sequence[int]
) -> dict[int, _Evidence]:
    found: dict[int, _Evidence] = {}
    chosen = set(wanted)
    for rows, scores in predictor.scores(features):
        allowed = predictor.words_of(scores)  # (B, L)
        # Window by window: a span must not reach from one into another.
        spans = best_spans(scores.start, scores.end, allowed, predictor.data.max_answer, 1)
        for i, row in enumerate(rows.tolist()):
            example = int(features.row_example[row]) if row >= 0 else -1
            if example not in chosen:
                continue
            words = scores.start[i][allowed[i]], scores.end[i][allowed[i]]  # (words,) each
            null = None
            if predictor.null:
                null = float(scores.start[i, 0]), float(scores.end[i, 0])
            here = _Evidence(float(spans.score[i, 0]), [words], null)
            found[example] = found[example].joined(here) if example in found else here
    return found


def held_out_contexts(examples: Sequence[Example], share: float, seed: int) -> set[str]:
    """Contexts kept aside: whole contexts, so that no passage is on both sides.

    No more than are of use: what exceeds MAX_QUESTIONS is better trained on.
    """
    questions = Counter(example.context for example in examples)
    contexts = sorted(questions)
    count = max(1, round(share * len(contexts)))
    chosen: set[str] = set()
    total = 0
    for i in np.random.default_rng(seed).permutation(len(contexts))[:count]:
        total += questions[contexts[int(i)]]
        if chosen and total > MAX_QUESTIONS:
            break
        chosen.add(contexts[int(i)])
    return chosen
