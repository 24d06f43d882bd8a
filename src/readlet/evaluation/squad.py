"""The official scores of SQuAD 1.1 and 2.0, to the last digit: exact match, F1, thresholds.

And the task of readers, which has these scores.
"""

import re
import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import add
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from readlet.evaluation.task import Items, Scored, Task, mean
from readlet.types import Example, Prediction

Rules = Literal["1.1", "2.0"]

_ARTICLES = re.compile(r"\b(a|an|the)\b")
# The official scripts remove ASCII punctuation only: « or – stays part of an answer.
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


@lru_cache(maxsize=1 << 16)
def normalise(text: str) -> str:
    """Lower case, no ASCII punctuation, no English articles, single spaces."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def exact_match(prediction: str, gold: str) -> float:
    return float(normalise(prediction) == normalise(gold))


def f1(prediction: str, gold: str, rules: Rules) -> float:
    """Harmonic mean of precision and recall over normalised words, counted with repeats."""
    predicted, wanted = normalise(prediction).split(), normalise(gold).split()
    # Empty against empty is correct in 2.0; 1.1 has no such case and scores it 0.
    if rules == "2.0" and not (predicted and wanted):
        return float(predicted == wanted)
    common = (Counter(predicted) & Counter(wanted)).total()
    if common == 0:
        return 0.0
    precision, recall = common / len(predicted), common / len(wanted)
    return (2 * precision * recall) / (precision + recall)


def rules_of(examples: Iterable[Example]) -> Rules:
    """Data with unanswerable questions is scored by the rules of 2.0, all other data by 1.1."""
    return "1.1" if all(example.answers for example in examples) else "2.0"


@dataclass
class QuestionScores:
    """One row per question, in the order of the data. Missing predictions score 0."""

    ids: list[str]
    exact: list[float]
    f1: list[float]
    has_answer: list[bool]
    abstained: list[bool]  # the prediction is empty
    missing: list[str]
    rules: Rules

    def __len__(self) -> int:
        return len(self.ids)


def score_questions(
    examples: Iterable[Example], predictions: Mapping[str, str], rules: Rules
) -> QuestionScores:
    """The best score over the gold answers, for every question.

    A repeated id counts every time by the rules of 1.1; by those of 2.0 only the last one counts.
    """
    rows: dict[str | int, tuple[str, float, float, bool, bool]] = {}
    for number, example in enumerate(examples):
        has_answer = bool(example.answers)
        key = example.id if rules == "2.0" else number
        prediction = predictions.get(example.id)
        if prediction is None:
            rows[key] = (example.id, 0.0, 0.0, has_answer, False)
            continue
        golds = _golds(example, rules)
        rows[key] = (
            example.id,
            max(exact_match(prediction, gold) for gold in golds),
            max(f1(prediction, gold, rules) for gold in golds),
            has_answer,
            not prediction,
        )
    columns = list(zip(*rows.values(), strict=True)) or [(), (), (), (), ()]
    ids, exact, f1_scores, has, abstained = map(list, columns)
    missing = [identity for identity in dict.fromkeys(ids) if identity not in predictions]
    return QuestionScores(ids, exact, f1_scores, has, abstained, missing, rules)


def summary(scores: QuestionScores) -> dict[str, float]:
    """The official keys: exact, f1, total, and the same for both kinds of questions."""
    result = _averages("", scores, range(len(scores)))
    answerable = [row for row, has in enumerate(scores.has_answer) if has]
    unanswerable = [row for row, has in enumerate(scores.has_answer) if not has]
    if answerable:
        result |= _averages("HasAns_", scores, answerable)
    if unanswerable:
        result |= _averages("NoAns_", scores, unanswerable)
    return result


def _golds(example: Example, rules: Rules) -> list[str]:
    golds = [answer.text for answer in example.answers]
    if rules == "2.0":
        golds = [gold for gold in golds if normalise(gold)]
    return golds or [""]


def _averages(prefix: str, scores: QuestionScores, rows: Sequence[int]) -> dict[str, float]:
    # In the order of the data: another order may change the last digit. The script of 1.1 adds one
    # by one; that of 2.0 calls sum(), which compensates rounding since Python 3.12.
    def added(values: Iterable[float]) -> float:
        return reduce(add, values, 0.0) if scores.rules == "1.1" else sum(values)

    total = len(rows)
    return {
        f"{prefix}exact": 100.0 * added(scores.exact[row] for row in rows) / max(total, 1),
        f"{prefix}f1": 100.0 * added(scores.f1[row] for row in rows) / max(total, 1),
        f"{prefix}total": total,
    }


def question_items(scores: QuestionScores) -> Items:
    """The columns of scored questions."""
    has_answer = np.array(scores.has_answer, np.bool_)
    return {
        "exact": np.array(scores.exact, np.float64),
        "f1": np.array(scores.f1, np.float64),
        "has_answer": has_answer.astype(np.uint8),
        "no_answer": (~has_answer).astype(np.uint8),
    }


def _score_spans(examples: Sequence[Example], predictions: Sequence[Prediction]) -> Scored:
    """By the official rules: those of 2.0 if any question is unanswerable."""
    of_id = {e.id: p for e, p in zip(examples, predictions, strict=True)}
    answers = {identity: prediction.text for identity, prediction in of_id.items()}
    scores = score_questions(examples, answers, rules_of(examples))
    # The position of an answer does not affect its score; reports mark it in the passage.
    starts = np.array([of_id[identity].start for identity in scores.ids], np.int32)
    items = {**question_items(scores), "start": starts}
    return Scored(scores.ids, items, summary(scores), answers)


SPANS = Task(
    name="spans",
    noun="questions",
    metrics=(
        mean("exact", "EM", "exact"),
        mean("f1", "F1", "f1"),
        mean("HasAns_exact", "EM, with answer", "exact", "has_answer"),
        mean("HasAns_f1", "F1, with answer", "f1", "has_answer"),
        mean("NoAns_exact", "EM, without answer", "exact", "no_answer"),
        mean("NoAns_f1", "F1, without answer", "f1", "no_answer"),
    ),
    decisive="f1",
    headline=("exact", "f1"),
    score=_score_spans,
)


# --- abstention -----------------------------------------------------------------------------------


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
