"""Exact match and F1 of SQuAD 1.1 and 2.0, equal to the official evaluations to the last digit."""

import re
import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import add
from typing import Literal

from readlet.types import Example

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
