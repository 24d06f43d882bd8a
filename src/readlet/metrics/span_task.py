"""Answers as spans of a passage: exact match and F1 of SQuAD."""

from collections.abc import Sequence

import numpy as np

from readlet.metrics.squad import QuestionScores, rules_of, score_questions, summary
from readlet.metrics.task import Items, Scored, Task, mean
from readlet.types import Example, Prediction


def question_items(scores: QuestionScores) -> Items:
    """The columns of scored questions."""
    has_answer = np.array(scores.has_answer, np.bool_)
    return {
        "exact": np.array(scores.exact, np.float64),
        "f1": np.array(scores.f1, np.float64),
        "has_answer": has_answer.astype(np.uint8),
        "no_answer": (~has_answer).astype(np.uint8),
    }


def _score(examples: Sequence[Example], predictions: Sequence[Prediction]) -> Scored:
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
    score=_score,
)
