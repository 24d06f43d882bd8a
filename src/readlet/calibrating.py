"""Fit a reader's calibration on held-out questions."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from readlet.calibration import Calibration, fit_no_answer, fit_temperature, logit
from readlet.decoding import best_spans
from readlet.encoding.features import Features
from readlet.metrics.calibration_error import expected_calibration_error
from readlet.metrics.squad import best_thresholds, exact_match, score_questions
from readlet.predicting import Predictor
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
        return [_confidence(*evidence[number], temperature) for number in answerable]

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


def _evidence(
    predictor: Predictor, features: Features, wanted: Sequence[int]
) -> dict[int, tuple[float, Tensor, Tensor]]:
    """The best span's score, and start and end scores of all places of all windows, end to end."""
    best: dict[int, float] = {}
    parts: dict[int, list[tuple[Tensor, Tensor]]] = defaultdict(list)
    chosen = set(wanted)
    for rows, scores in predictor.scores(features):
        allowed = predictor.words_of(scores)  # (B, L)
        # Window by window: a span must not reach from one into another.
        found = best_spans(scores.start, scores.end, allowed, predictor.data.max_answer, 1)
        for i, row in enumerate(rows.tolist()):
            example = int(features.row_example[row]) if row >= 0 else -1
            if example in chosen:
                keep = scores.keep[i]  # (L,)
                start, end = scores.start[i][keep], scores.end[i][keep]  # (kept,) each
                parts[example].append((start, end))
                top = float(found.score[i, 0])
                best[example] = max(best.get(example, top), top)
    joined: dict[int, tuple[float, Tensor, Tensor]] = {}
    for example, windows in parts.items():
        starts, ends = zip(*(_with_one_null(windows) if predictor.null else windows), strict=True)
        start, end = torch.cat(starts), torch.cat(ends)  # (places of all windows,) each
        joined[example] = (best[example], start, end)
    return joined


def _with_one_null(windows: list[tuple[Tensor, Tensor]]) -> list[tuple[Tensor, Tensor]]:
    """As the predictor counts: the place of "no answer", the first one, of a single window."""
    kept = min(range(len(windows)), key=lambda n: float(windows[n][0][0] + windows[n][1][0]))
    return [
        (start, end) if number == kept else (start[1:], end[1:])
        for number, (start, end) in enumerate(windows)
    ]


def _confidence(best: float, start: Tensor, end: Tensor, temperature: float) -> float:
    """The probability that the predictor gives its first answer at this temperature."""
    total = (start / temperature).logsumexp(0) + (end / temperature).logsumexp(0)  # ()
    return math.exp(min(best / temperature - float(total), 0.0))


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
