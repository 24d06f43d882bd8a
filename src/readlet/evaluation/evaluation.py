"""Groups of questions: by their type, by the length of the answer and of the context.

The type comes from the question word, in English, Spanish, French and German.

A complete evaluation of answers or of labels: scores, intervals, calibration, comparison.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from unicodedata import normalize

from readlet.errors import ReadletError
from readlet.evaluation.calibration_error import ReliabilityBin, calibration_error, reliability
from readlet.evaluation.no_answer import (
    abstain_above,
    best_thresholds,
    no_answer_area,
    precision_recall,
)
from readlet.evaluation.significance import difference_p, score_interval
from readlet.evaluation.squad import QuestionScores, Rules, rules_of, score_questions, summary
from readlet.evaluation.task import Scored, Task
from readlet.evaluation.tasks import SPANS, question_items
from readlet.text.words import word_spans, words
from readlet.types import Example, Sentence

TYPES = ("what", "who", "when", "where", "why", "which", "how", "how many", "other")

_TYPE_OF_WORD = {
    "what": "what que qué qu quoi was",
    "who": "who whom whose quién quiénes qui wer wen wem wessen",
    "when": "when cuándo quand wann",
    "where": "where dónde adónde où wo woher wohin",
    "why": "why warum weshalb wieso pourquoi",
    "which": (
        "which cuál cuáles quel quelle quels quelles lequel laquelle "
        "welche welcher welches welchen welchem"
    ),
    "how": "how cómo comment wie",
    "how many": "cuánto cuánta cuántos cuántas combien wieviel",
}
_TYPES = {word: kind for kind, listed in _TYPE_OF_WORD.items() for word in listed.split()}
# "was" is also an English verb, and "que" a conjunction: inside a question they count only if no
# other question word follows ("The bridge was opened when?").
_WEAK = frozenset(("que", "qu", "was"))
# Pairs of words with a meaning of their own.
_PAIRS = {
    ("how", "many"): "how many",
    ("how", "much"): "how many",
    ("wie", "viele"): "how many",
    ("wie", "viel"): "how many",
    ("por", "qué"): "why",
}


def question_type(question: str) -> str:
    """The first question word decides; "In what year" is `what`, "How many" is `how many`."""
    text = normalize("NFC", question.lower())  # "qué" may have a separate combining accent
    listed = [word.rstrip("'’") for word in words(text) if word[0].isalnum()]
    fallback = "other"
    for position, word in enumerate(listed):
        pair = tuple(listed[position : position + 2])
        if pair in _PAIRS:
            return _PAIRS[pair]
        if word in _WEAK and position > 0:
            fallback = _TYPES[word]
        elif word in _TYPES:
            return _TYPES[word]
    return fallback


_ANSWER_LENGTHS = {"none": (0, 1), "1": (1, 2), "2": (2, 3), "3-4": (3, 5), "5-9": (5, 10)}
_ANSWER_LENGTHS |= {"10+": (10, 1 << 30)}
_CONTEXT_LENGTHS = {"0-99": (0, 100), "100-149": (100, 150), "150-199": (150, 200)}
_CONTEXT_LENGTHS |= {"200-299": (200, 300), "300+": (300, 1 << 30)}


def group_members(rows: Sequence[Example]) -> dict[str, dict[str, list[int]]]:
    """Rows by kind of question and by length, in words; empty groups are left out."""
    context_words = {context: len(word_spans(context)) for context in {e.context for e in rows}}
    groups: dict[str, tuple[Iterable[str], list[str]]] = {
        "question type": (TYPES, [question_type(e.question) for e in rows]),
        "answer words": (_ANSWER_LENGTHS, [_bin(_ANSWER_LENGTHS, _shortest(e)) for e in rows]),
        "context words": (
            _CONTEXT_LENGTHS,
            [_bin(_CONTEXT_LENGTHS, context_words[e.context]) for e in rows],
        ),
    }
    result: dict[str, dict[str, list[int]]] = {}
    for group, (names, member_of) in groups.items():
        for name in names:
            members = [row for row, member in enumerate(member_of) if member == name]
            if members:
                result.setdefault(group, {})[name] = members
    return result


def _shortest(example: Example) -> int:
    """Length in words of the shortest gold answer."""
    return min((len(word_spans(answer.text)) for answer in example.answers), default=0)


def _bin(bins: Mapping[str, tuple[int, int]], length: int) -> str:
    return next(name for name, (low, high) in bins.items() if low <= length < high)


@dataclass(frozen=True)
class Evaluation:
    """Everything that `readlet evaluate` prints; `official` has the official keys."""

    official: dict[str, float]
    missing: list[str]
    intervals: dict[str, tuple[float, float]]
    breakdown: dict[str, dict[str, dict[str, float]]]
    against: dict[str, float] | None
    # The reader's confidence against its accuracy; None without a reader.
    reliability: list[ReliabilityBin] | None = None
    # ROC area of the no-answer probability; None without probabilities, or one kind of question.
    no_answer_area: float | None = None

    @property
    def calibration_error(self) -> float | None:
        return None if self.reliability is None else calibration_error(self.reliability)

    def as_json(self) -> dict[str, Any]:
        """The official keys are at the top level, where other tools expect them."""
        extra: dict[str, Any] = {
            "missing": self.missing,
            "confidence_95": {name: list(bounds) for name, bounds in self.intervals.items()},
            "breakdown": self.breakdown,
        }
        if self.against is not None:
            extra["against"] = self.against
        if self.no_answer_area is not None:
            extra["no_answer_area"] = self.no_answer_area
        if self.reliability is not None:
            extra["calibration_error"] = self.calibration_error
            extra["reliability"] = [asdict(bin) for bin in self.reliability]
        return self.official | extra


def evaluate(
    examples: Sequence[Example],
    predictions: Mapping[str, str],
    *,
    na_probs: Mapping[str, float] | None = None,
    na_threshold: float = 1.0,
    against: Mapping[str, str] | None = None,
    rules: Rules | None = None,
    confidences: Mapping[str, float] | None = None,
) -> Evaluation:
    """Score predictions; without `rules`, data with unanswerable questions is scored as 2.0."""
    rules = rules or rules_of(examples)
    raw = score_questions(examples, predictions, rules)
    scores = raw
    official: dict[str, float] = {}
    if na_probs is not None:
        _require_probabilities(raw, na_probs)
        scores = abstain_above(raw, na_probs, na_threshold)
        official = best_thresholds(raw, na_probs) | precision_recall(raw, na_probs)
    items = question_items(scores)
    return Evaluation(
        official=summary(scores) | official,
        missing=raw.missing,
        intervals={name: score_interval(SPANS.metric(name), items) for name in SPANS.headline},
        breakdown=_breakdown(examples, scores),
        against=_compare(examples, scores, against, rules) if against is not None else None,
        reliability=_reliability(scores, confidences),
        no_answer_area=_no_answer_area(raw, na_probs),
    )


def _reliability(
    scores: QuestionScores, confidences: Mapping[str, float] | None
) -> list[ReliabilityBin] | None:
    if confidences is None:
        return None
    return reliability([confidences[identity] for identity in scores.ids], scores.exact)


def _no_answer_area(scores: QuestionScores, na_probs: Mapping[str, float] | None) -> float | None:
    if na_probs is None:
        return None
    return no_answer_area([na_probs[identity] for identity in scores.ids], scores.has_answer)


def _require_probabilities(scores: QuestionScores, na_probs: Mapping[str, float]) -> None:
    absent = [identity for identity in scores.ids if identity not in na_probs]
    if absent:
        raise ReadletError(
            f"no-answer probabilities: missing for {len(absent)} questions, the first is "
            f"{absent[0]!r}; give one for every question"
        )


def _compare(
    examples: Sequence[Example], scores: QuestionScores, against: Mapping[str, str], rules: Rules
) -> dict[str, float]:
    other = score_questions(examples, against, rules)
    theirs, ours = summary(other), summary(scores)
    items, other_items = question_items(scores), question_items(other)
    found: dict[str, float] = {}
    for name in SPANS.headline:
        found[name] = theirs[name]
        found[f"{name}_difference"] = ours[name] - theirs[name]
        found[f"{name}_p"] = difference_p(SPANS.metric(name), items, other_items)
    return found | {"missing": len(other.missing)}


def _breakdown(
    examples: Iterable[Example], scores: QuestionScores
) -> dict[str, dict[str, dict[str, float]]]:
    by_id = {example.id: example for example in examples}
    groups = group_members([by_id[identity] for identity in scores.ids])
    return {
        group: {
            name: {
                "total": len(members),
                "exact": 100.0 * sum(scores.exact[row] for row in members) / len(members),
                "f1": 100.0 * sum(scores.f1[row] for row in members) / len(members),
            }
            for name, members in parts.items()
        }
        for group, parts in groups.items()
    }


@dataclass(frozen=True)
class ClassEvaluation:
    """Everything that `readlet evaluate` prints for texts with labels."""

    task: Task
    official: dict[str, float]
    missing: list[str]
    intervals: dict[str, tuple[float, float]]
    against: dict[str, float] | None
    # By label, then by predicted class; None for values.
    confusion: dict[str, dict[str, int]] | None = None
    # The classifier's confidence against its accuracy; None without a classifier.
    reliability: list[ReliabilityBin] | None = None

    @property
    def calibration_error(self) -> float | None:
        return None if self.reliability is None else calibration_error(self.reliability)

    def as_json(self) -> dict[str, Any]:
        extra: dict[str, Any] = {
            "missing": self.missing,
            "confidence_95": {name: list(bounds) for name, bounds in self.intervals.items()},
        }
        if self.confusion is not None:
            extra["confusion"] = self.confusion
        if self.against is not None:
            extra["against"] = self.against
        if self.reliability is not None:
            extra["calibration_error"] = self.calibration_error
            extra["reliability"] = [asdict(bin) for bin in self.reliability]
        return self.official | extra


def evaluate_classes(
    task: Task,
    classes: Sequence[str],
    sentences: Sequence[Sentence],
    predictions: Mapping[str, str],
    *,
    against: Mapping[str, str] | None = None,
    confidences: Mapping[str, float] | None = None,
) -> ClassEvaluation:
    """Score predicted labels by id; a text without a prediction counts as wrong.

    Without `classes` the labels are values, and every text needs a prediction.
    """
    scored = _scored(task, classes, sentences, predictions)
    return ClassEvaluation(
        task=task,
        official=scored.summary,
        missing=missing_in(sentences, predictions),
        intervals={metric.name: score_interval(metric, scored.items) for metric in task.metrics},
        against=(
            _compare_classes(task, classes, sentences, scored, against)
            if against is not None
            else None
        ),
        confusion=_confusion(classes, sentences, predictions) if classes else None,
        reliability=_class_reliability(sentences, predictions, confidences),
    )


def missing_in(sentences: Sequence[Sentence], given: Mapping[str, str]) -> list[str]:
    """The ids of the texts without a prediction."""
    return [sentence.id for sentence in sentences if sentence.id not in given]


def _scored(
    task: Task, classes: Sequence[str], sentences: Sequence[Sentence], given: Mapping[str, str]
) -> Scored:
    return task.score(sentences, [given.get(s.id) or _wrong(classes, s) for s in sentences])


def _wrong(classes: Sequence[str], sentence: Sentence) -> str:
    return next(name for name in classes if name != sentence.label)


def _confusion(
    classes: Sequence[str], sentences: Sequence[Sentence], given: Mapping[str, str]
) -> dict[str, dict[str, int]]:
    counts = Counter((s.label, given[s.id]) for s in sentences if s.id in given)
    return {label: {name: counts[label, name] for name in classes} for label in classes}


def _class_reliability(
    sentences: Sequence[Sentence],
    predictions: Mapping[str, str],
    confidences: Mapping[str, float] | None,
) -> list[ReliabilityBin] | None:
    if confidences is None:
        return None
    correct = [float(predictions[s.id] == s.label) for s in sentences]
    return reliability([confidences[s.id] for s in sentences], correct)


def _compare_classes(
    task: Task,
    classes: Sequence[str],
    sentences: Sequence[Sentence],
    ours: Scored,
    against: Mapping[str, str],
) -> dict[str, float]:
    theirs = _scored(task, classes, sentences, against)
    found: dict[str, float] = {}
    for metric in task.metrics:
        there = theirs.summary[metric.name]
        found[metric.name] = there
        found[f"{metric.name}_difference"] = ours.summary[metric.name] - there
        found[f"{metric.name}_p"] = difference_p(metric, ours.items, theirs.items)
    return found | {"missing": len(missing_in(sentences, against))}
