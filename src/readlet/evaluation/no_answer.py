"""Abstention: scores over no-answer thresholds, and how well the probability separates.

The thresholds and the precision-recall summary equal the official ones of SQuAD 2.0.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from readlet.evaluation.squad import QuestionScores


def no_answer_area(no_answer: ArrayLike, has_answer: Sequence[bool]) -> float | None:
    """The area under the ROC curve, whatever the threshold; None without both kinds of questions.

    It is the probability that an unanswerable question has a higher no-answer probability than an
    answerable one; ties count half.
    """
    answerable = np.asarray(has_answer, np.bool_)  # (questions,)
    values = np.asarray(no_answer, np.float64)  # (questions,)
    lower = np.sort(values[answerable])  # (answerable,)
    upper = values[~answerable]  # (unanswerable,)
    pairs = len(lower) * len(upper)
    if not pairs:
        return None
    below = np.searchsorted(lower, upper, "left")  # (unanswerable,)
    not_above = np.searchsorted(lower, upper, "right")  # (unanswerable,)
    return float((below + not_above).sum() / (2 * pairs))


def abstain_above(
    scores: QuestionScores, na_probs: Mapping[str, float], threshold: float
) -> QuestionScores:
    """The scores if every question above the threshold is left without an answer.

    A missing prediction stays wrong: it does not count as abstaining.
    """
    missing = set(scores.missing)
    abstains = [na_probs[key] > threshold and key not in missing for key in scores.ids]

    def applied(values: Sequence[float]) -> list[float]:
        rows = zip(values, abstains, scores.has_answer, strict=True)
        return [float(not has) if no else value for value, no, has in rows]

    return QuestionScores(
        scores.ids,
        applied(scores.exact),
        applied(scores.f1),
        scores.has_answer,
        [empty or no for empty, no in zip(scores.abstained, abstains, strict=True)],
        scores.missing,
        scores.rules,
    )


def best_thresholds(scores: QuestionScores, na_probs: Mapping[str, float]) -> dict[str, float]:
    """The best score over all no-answer thresholds, and the smallest threshold that reaches it."""
    best_exact, exact_threshold = _best(scores, scores.exact, na_probs)
    best_f1, f1_threshold = _best(scores, scores.f1, na_probs)
    return {
        "best_exact": best_exact,
        "best_exact_thresh": exact_threshold,
        "best_f1": best_f1,
        "best_f1_thresh": f1_threshold,
    }


def precision_recall(scores: QuestionScores, na_probs: Mapping[str, float]) -> dict[str, float]:
    """Average precision when questions are answered in order of decreasing confidence."""
    if not any(scores.has_answer):
        return {}
    oracle = [float(has) for has in scores.has_answer]
    return {
        "pr_exact_ap": _average_precision(scores, scores.exact, na_probs),
        "pr_f1_ap": _average_precision(scores, scores.f1, na_probs),
        "pr_oracle_ap": _average_precision(scores, oracle, na_probs),
    }


def _by_confidence(scores: QuestionScores, na_probs: Mapping[str, float]) -> list[int]:
    """Rows by increasing no-answer probability; ties stay in the order of `na_probs`."""
    rows = {identity: row for row, identity in enumerate(scores.ids)}
    return [rows[key] for key in sorted(na_probs, key=lambda key: na_probs[key]) if key in rows]


def _best(
    scores: QuestionScores, values: Sequence[float], na_probs: Mapping[str, float]
) -> tuple[float, float]:
    # Abstaining everywhere is right for the unanswerable questions; then answer one by one.
    missing = set(scores.missing)
    predicted = [identity not in missing for identity in scores.ids]
    pairs = zip(scores.has_answer, predicted, strict=True)
    current: float = sum(given and not has for has, given in pairs)
    best, threshold = current, 0.0
    for row in _by_confidence(scores, na_probs):
        if not predicted[row]:
            continue
        if scores.has_answer[row]:
            current += values[row]
        elif not scores.abstained[row]:
            current -= 1
        if current > best:
            best, threshold = current, na_probs[scores.ids[row]]
    return 100.0 * best / max(len(scores), 1), threshold


def _average_precision(
    scores: QuestionScores, values: Sequence[float], na_probs: Mapping[str, float]
) -> float:
    order = _by_confidence(scores, na_probs)
    answerable = sum(scores.has_answer)
    true_positives = precision_sum = last_recall = 0.0
    for rank, row in enumerate(order, 1):
        if scores.has_answer[row]:
            true_positives += values[row]
        recall = true_positives / answerable
        tie = rank < len(order) and (na_probs[scores.ids[row]] == na_probs[scores.ids[order[rank]]])
        if not tie:  # only a change of the threshold is a point of the curve
            precision_sum += true_positives / rank * (recall - last_recall)
            last_recall = recall
    return 100.0 * precision_sum
