"""Fit a reader's calibration on held-out questions.

How much doubt each further window adds is fitted on passages that are put into long documents.
Every window is another chance of a plausible wrong answer, so the best of many leads more easily
over "no answer" than that of one. If the best of n windows were the best of n independent scores
with exponential tails, it would grow with log n: hence the form of the term.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from readlet.evaluation.squad import exact_match
from readlet.evaluation.statistics import expected_calibration_error
from readlet.inference.calibration import (
    UNCALIBRATED,
    Calibration,
    Doubles,
    fit_answers,
    fit_no_answer,
    logistic,
    logit,
    shifted,
)
from readlet.inference.decoding import NOTHING, Predictor, best_spans, log_sums, log_total
from readlet.models.family import Floats
from readlet.text.rows import Rows
from readlet.types import Example, Prediction

_DOCUMENTS = 200  # questions
PARAGRAPHS = (3, 10, 30)  # of the documents, in turn: the factor must suit all lengths
_MOST = 3.0  # a larger term would mean that nothing in a long text is believed


def fit_windows(predictor: Predictor, examples: Sequence[Example], fitted: Calibration) -> float:
    """The factor of log(windows) with which documents have no answer as often as passages alone.

    `predictor` has no calibration; `fitted` is that of the passages alone. Each question is
    compared with itself, so its label does not matter, and 200 of them are enough. 0 if documents
    have none as often without it.
    """
    step = max(1, len(examples) // _DOCUMENTS)
    chosen = list(examples[::step])
    documents = in_documents(chosen, examples)
    alone, inside = (_odds(predictor, asked, fitted) for asked in (chosen, documents))
    more = np.log(inside.windows / alone.windows)  # (questions,)
    wanted = float(np.mean(_logistic(alone.values)))

    def missing(factor: float) -> float:
        return wanted - float(np.mean(_logistic(inside.values + factor * more)))

    if missing(0.0) <= 0.0 or missing(_MOST) >= 0.0:
        return 0.0 if missing(0.0) <= 0.0 else _MOST
    from scipy.optimize import brentq  # used only in training, and slow to import

    return float(brentq(missing, 0.0, _MOST))


class _Odds(NamedTuple):
    values: Doubles  # (questions,) log-odds of "no answer"
    windows: NDArray[np.int64]  # (questions,)


def _odds(predictor: Predictor, asked: Sequence[Example], fitted: Calibration) -> _Odds:
    rows = predictor.scorer.encoder.encode(asked)
    leads = np.array([logit(p.no_answer) for p in predictor.predict(asked, rows)])  # (questions,)
    values = fitted.no_answer_slope * leads + fitted.no_answer_bias  # (questions,)
    return _Odds(values, windows_of(rows, len(asked)))


def _logistic(x: Doubles) -> Doubles:
    return np.exp(-np.logaddexp(0.0, -x))  # (questions,)


def in_documents(
    examples: Sequence[Example],
    others: Sequence[Example],
    paragraphs: Sequence[int] = PARAGRAPHS,
) -> list[Example]:
    """The questions about longer texts: the passage stands among passages of other articles.

    The places of the answers are not moved. Without titles, any other passage may stand there.
    """
    passages = sorted({(example.title, example.context) for example in others})
    draw = random.Random(0)
    made = []
    for example, count in zip(examples, cycle(paragraphs), strict=False):
        around = [
            text
            for title, text in passages
            if (title != example.title or not title) and text != example.context
        ]
        texts = draw.sample(around, min(count - 1, len(around)))
        texts.insert(draw.randrange(len(texts) + 1), example.context)
        made.append(replace(example, context="\n\n".join(texts)))
    return made


def windows_of(rows: Rows, examples: int) -> NDArray[np.int64]:
    """The number of windows of each example, at least 1."""
    return np.maximum(np.bincount(rows.row_example, minlength=examples), 1)  # (examples,)


# With fewer questions of a kind the fit would be noise: the defaults are better.
MIN_QUESTIONS = 30
TOO_FEW = f"fewer than {MIN_QUESTIONS} answerable questions"
TOO_FEW_OF_A_KIND = f"fewer than {MIN_QUESTIONS} questions with, or without, an answer"
"""Reasons in messages why the calibration, or its no-answer probability, was not fitted."""


def calibrate(
    predictor: Predictor,
    examples: Sequence[Example],
    rows: Rows,
    default: Calibration = UNCALIBRATED,
) -> Calibration:
    """Fit the confidence of answers on the answerable questions, and `no_answer` on all questions.

    What is not fitted, for example with too few questions of a kind, has the values of `default`.

    Together they maximise the likelihood of what is true of each question: that it has no answer,
    that the best answer is right, or that another one is.
    """
    options = predictor.options.changed(min_confidence="always", unanswerable_share=None)
    predictor = replace(predictor, calibration=UNCALIBRATED, options=options)
    predictions = predictor.predict(examples, rows)
    # A passage without words or an empty question has no answer at any temperature.
    answered = [n for n, prediction in enumerate(predictions) if prediction.n_best]
    correct = [_is_right(predictions[n], examples[n]) for n in answered]
    answerable = [i for i, n in enumerate(answered) if examples[n].answers]
    if len(answerable) < MIN_QUESTIONS:
        kept = {"questions": 0, "error_before": None, "error_after": None}
        return default.model_copy(update=kept)
    evidence = _evidence(predictor, examples, rows, answered)

    def shares(temperature: float) -> list[float]:
        return [evidence[answered[i]].share(temperature) for i in answerable]

    temperature, bias = fit_answers(shares, [correct[i] for i in answerable])
    of_answers = {"temperature": temperature, "answer_bias": bias, "questions": len(examples)}
    fitted = default.model_copy(update=of_answers)
    if predictor.scorer.can_abstain:
        fitted = _with_no_answer(fitted, predictor, examples, predictions, rows)
    counts = windows_of(rows, len(examples))
    after = [
        (1.0 - _no_answer(fitted, predictions[n], int(counts[n])))
        * fitted.of_answers([evidence[n].share(temperature)])[0]
        for n in answered
    ]
    errors = {
        "error_before": expected_calibration_error(
            [predictions[n].score for n in answered], correct
        ),
        "error_after": expected_calibration_error(after, correct),
    }
    return fitted.model_copy(update=errors)


def _no_answer(fitted: Calibration, prediction: Prediction, windows: int) -> float:
    """The fitted no-answer probability of a prediction that was made with the defaults."""
    return fitted.no_answer(logit(prediction.no_answer), windows) if prediction.no_answer else 0.0


def _with_no_answer(
    base: Calibration,
    predictor: Predictor,
    examples: Sequence[Example],
    predictions: Sequence[Prediction],
    rows: Rows,
) -> Calibration:
    """Fit the no-answer probability.

    The predictions were made before the temperature was fitted: none of this depends on it.
    """
    unanswerable = [not example.answers for example in examples]
    if min(sum(unanswerable), len(examples) - sum(unanswerable)) < MIN_QUESTIONS:
        return base
    leads, counts = [logit(p.no_answer) for p in predictions], windows_of(rows, len(examples))
    fitted = _fitted(base, leads, unanswerable, 0.0)
    factor = fit_windows(predictor, examples, fitted)
    added = factor * np.log(counts)  # (questions,)
    fitted = _fitted(base, leads, unanswerable, added)
    return fitted.model_copy(update={"no_answer_windows": factor})


def _fitted(
    base: Calibration, leads: Sequence[float], unanswerable: Sequence[bool], added: Doubles | float
) -> Calibration:
    slope, bias = fit_no_answer(leads, unanswerable, added)
    of_no_answer = {
        "no_answer_slope": slope,
        "no_answer_bias": bias,
        "unanswerable_share": sum(unanswerable) / len(unanswerable),
    }
    return base.model_copy(update=of_no_answer)


_PRIOR = 1.0  # standard deviation of the shifts, in log-odds
_PRIOR_OF_FACTOR = 0.25  # of the factor, as a logarithm


class Adaptation(NamedTuple):
    """How the log-odds of a reader move on questions of another kind.

    Few questions move them little: the values are the most probable ones, given normal priors
    around the reader's own calibration, after it was moved to the share of unanswerable questions.
    """

    calibration: Calibration
    factor: float  # of the log-odds of "no answer"
    shift: float  # added to that
    of_answers: float  # added to the log-odds of the best answer, given that there is one

    def of(self, prediction: Prediction, level: float) -> Prediction:
        """A prediction that was made with the calibration before."""
        if not prediction.n_best:
            return prediction
        none = logistic(self.factor * logit(prediction.no_answer) + self.shift)
        shares = [_share(candidate.score, prediction) for candidate in prediction.n_best]
        candidates = [
            replace(candidate, score=share)
            for candidate, share in zip(
                prediction.n_best, shifted(shares, self.of_answers), strict=True
            )
        ]
        return Prediction.choose(candidates, none, level)


def adapt(
    start: Calibration, examples: Sequence[Example], predictions: Sequence[Prediction]
) -> Adaptation:
    """Fit the adaptation on predictions that were made with the calibration of the start.

    The expected share of unanswerable questions is that of the examples. Where all of them have an
    answer, nothing is known of it: then only the confidence of answers is fitted.
    """
    asked = [(e, p) for e, p in zip(examples, predictions, strict=True) if p.n_best]
    unanswerable = np.array([not e.answers for e, _ in asked])  # (questions,)
    fitted, factor, shift = start, 1.0, 0.0
    if unanswerable.any():
        share = (unanswerable.sum() + 0.5) / (len(unanswerable) + 1.0)
        by_share = logit(share) - logit(start.unanswerable_share)
        none = np.array([logit(p.no_answer) for _, p in asked]) + by_share  # (questions,)
        factor, own = _most_probable(none, unanswerable)
        shift = factor * by_share + own
        fitted = start.model_copy(
            update={
                "no_answer_slope": factor * start.no_answer_slope,
                "no_answer_bias": factor * start.no_answer_bias + shift,
                "no_answer_windows": factor * start.no_answer_windows,
                "unanswerable_share": float(share),
            }
        )
    answered = [(e, p) for e, p in asked if e.answers]
    bias = start.answer_bias
    if answered:
        odds = np.array([logit(_share(p.score, p)) for _, p in answered])
        right = np.array([_is_right(p, e) for e, p in answered])  # (questions,)
        bias = max(bias + _most_probable(odds, right, factor=False)[1], 0.0)
    adapted = Adaptation(fitted, factor, shift, bias - start.answer_bias)
    correct = [_is_right(p, e) for e, p in asked]
    after = [adapted.of(p, 0.0).score for _, p in asked]
    measured = {
        "answer_bias": bias,
        "questions": len(examples),
        "error_before": expected_calibration_error([p.score for _, p in asked], correct),
        "error_after": expected_calibration_error(after, correct),
    }
    return adapted._replace(calibration=fitted.model_copy(update=measured))


def _most_probable(
    odds: Doubles, truth: NDArray[Any], *, factor: bool = True
) -> tuple[float, float]:
    """The factor and the shift of log-odds that best predict what is true, given the priors."""
    from scipy.optimize import minimize

    def loss(values: Doubles) -> float:
        log_factor, shift = values if factor else (0.0, values[0])
        moved = np.exp(log_factor) * odds + shift  # (questions,)
        prior = 0.5 * (shift / _PRIOR) ** 2 + 0.5 * (log_factor / _PRIOR_OF_FACTOR) ** 2
        return float(np.sum(np.logaddexp(0.0, moved) - truth * moved) + prior)

    found = minimize(loss, (0.0, 0.0) if factor else (0.0,)).x
    return (math.exp(found[0]), float(found[1])) if factor else (1.0, float(found[0]))


def _is_right(prediction: Prediction, example: Example) -> float:
    """Whether the best candidate is right, given or not."""
    best = prediction.n_best[0].text
    return max((exact_match(best, gold.text) for gold in example.answers), default=0.0)


def _share(score: float, prediction: Prediction) -> float:
    """A candidate's probability, given that there is an answer."""
    return score / max(1.0 - prediction.no_answer, 1e-300)


class _Evidence(NamedTuple):
    """The scores that determine the share of the best answer to one question."""

    best: float  # score of the best span
    windows: list[tuple[Floats, Floats]]  # start and end scores of the places of each, (places,)

    def joined(self, other: "_Evidence") -> "_Evidence":
        """The evidence of two groups of windows together."""
        return _Evidence(max(self.best, other.best), [*self.windows, *other.windows])

    def share(self, temperature: float) -> float:
        """The predictor's probability of the best answer, given that there is one."""
        places = [
            (_log_sum(start / temperature), _log_sum(end / temperature))
            for start, end in self.windows
        ]
        return math.exp(min(self.best / temperature - log_total(places), 0.0))


def _log_sum(scores: Floats) -> float:
    return float(log_sums(scores[None], np.ones((1, len(scores)), np.bool_))[0])


def _evidence(
    predictor: Predictor, examples: Sequence[Example], rows: Rows, wanted: Sequence[int]
) -> dict[int, _Evidence]:
    found: dict[int, _Evidence] = {}
    chosen, scorer = set(wanted), predictor.scorer
    for numbers, scores in scorer.scores(rows, predictor.batch_size):
        for i, row in enumerate(numbers.tolist()):
            example = int(rows.row_example[row])
            if example not in chosen:
                continue
            start, end, allowed = scores.start[i], scores.end[i], scores.allowed[i]  # (L,)
            # Window by window: a span must not cross windows.
            best = best_spans(
                start,
                end,
                allowed,
                rows.places(row),
                examples[example].context,
                max_places=scorer.max_answer,
                n=1,
            )
            score = best[0].score if best else NOTHING
            here = _Evidence(score, [(start[allowed], end[allowed])])
            found[example] = found[example].joined(here) if example in found else here
    return found
