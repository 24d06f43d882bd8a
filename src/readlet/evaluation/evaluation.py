"""Groups of questions: by their type, by the length of the answer and of the context.

The type comes from the question word, in English, Spanish, French and German.

A complete evaluation of answers or of labels: scores, intervals, calibration, comparison.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field
from typing import Any
from unicodedata import normalize

from readlet.errors import ReadletError
from readlet.evaluation.squad import (
    SPANS,
    QuestionScores,
    Rules,
    abstain_above,
    best_thresholds,
    no_answer_area,
    question_items,
    rules_of,
    score_questions,
    summary,
)
from readlet.evaluation.statistics import (
    ReliabilityBin,
    calibration_error,
    difference_p,
    reliability,
    score_interval,
)
from readlet.evaluation.task import Scored, Task
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


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Everything that `readlet evaluate` prints; `official` has the official keys."""

    official: dict[str, float]
    missing: list[str]
    intervals: dict[str, tuple[float, float]]
    against: dict[str, float] | None
    # The model's confidence against its accuracy; None without a model.
    reliability: list[ReliabilityBin] | None = None
    task: Task = SPANS
    # Of questions.
    breakdown: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    # ROC area of the no-answer probability; None without probabilities, or one kind of question.
    no_answer_area: float | None = None
    no_answer_reliability: list[ReliabilityBin] | None = None
    """The no-answer probability against the share of questions without an answer."""
    # Of classes: by label, then by predicted class.
    confusion: dict[str, dict[str, int]] | None = None

    @property
    def calibration_error(self) -> float | None:
        return None if self.reliability is None else calibration_error(self.reliability)

    def as_json(self) -> dict[str, Any]:
        """The official keys are at the top level, where other tools expect them."""
        found: dict[str, Any] = self.official | {
            "missing": self.missing,
            "confidence_95": {name: list(bounds) for name, bounds in self.intervals.items()},
        }
        for name in ("against", "breakdown", "no_answer_area", "confusion"):
            if (value := getattr(self, name)) not in (None, {}):
                found[name] = value
        for of, bins in (("", self.reliability), ("no_answer_", self.no_answer_reliability)):
            if bins is not None:
                found[f"{of}calibration_error"] = calibration_error(bins)
                found[f"{of}reliability"] = [asdict(bin) for bin in bins]
        return found


def evaluate(
    examples: Sequence[Example],
    predictions: Mapping[str, str],
    *,
    na_probs: Mapping[str, float] | None = None,
    na_threshold: float = 1.0,
    abstained: Set[str] | None = None,
    against: Mapping[str, str] | None = None,
    rules: Rules | None = None,
    confidences: Mapping[str, float] | None = None,
) -> Evaluation:
    """Score predictions; without `rules`, data with unanswerable questions is scored as 2.0.

    No answer is given to the questions in `abstained`, or else to those with a no-answer
    probability above the threshold.
    """
    rules = rules or rules_of(examples)
    raw = score_questions(examples, predictions, rules)
    scores = raw
    official: dict[str, float] = {}
    if na_probs is not None:
        _require_probabilities(raw, na_probs)
        if abstained is None:
            scores = abstain_above(raw, na_probs, na_threshold)
        official = best_thresholds(raw, na_probs)
    if abstained is not None:
        scores = abstain_above(raw, {key: float(key in abstained) for key in raw.ids}, 0.5)
    items = question_items(scores)
    unanswerable = [float(not has) for has in raw.has_answer]
    doubts = None if na_probs is None else [na_probs[identity] for identity in raw.ids]
    return Evaluation(
        official=summary(scores) | official,
        missing=raw.missing,
        intervals={name: score_interval(SPANS.metric(name), items) for name in SPANS.headline},
        breakdown=_breakdown(examples, scores),
        against=_compare(examples, scores, against, rules) if against is not None else None,
        reliability=None
        if confidences is None
        else reliability([confidences[identity] for identity in scores.ids], scores.exact),
        no_answer_area=None if doubts is None else no_answer_area(doubts, raw.has_answer),
        no_answer_reliability=reliability(doubts, unanswerable)
        if doubts and len({*unanswerable}) == 2 and 0.0 <= min(doubts) <= max(doubts) <= 1.0
        else None,
    )


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
    ours, theirs = (Scored(s.ids, question_items(s), summary(s), {}) for s in (scores, other))
    return _difference(SPANS, SPANS.headline, ours, theirs) | {"missing": len(other.missing)}


def _difference(task: Task, names: Sequence[str], ours: Scored, theirs: Scored) -> dict[str, float]:
    found: dict[str, float] = {}
    for name in names:
        found[name] = theirs.summary[name]
        found[f"{name}_difference"] = ours.summary[name] - theirs.summary[name]
        found[f"{name}_p"] = difference_p(task.metric(name), ours.items, theirs.items)
    return found


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


def evaluate_classes(
    task: Task,
    classes: Sequence[str],
    sentences: Sequence[Sentence],
    predictions: Mapping[str, str],
    *,
    against: Mapping[str, str] | None = None,
    confidences: Mapping[str, float] | None = None,
) -> Evaluation:
    """Score predicted labels by id; a text without a prediction counts as wrong.

    Without `classes` the labels are values, and every text needs a prediction.
    """
    scored = _scored(task, classes, sentences, predictions)
    return Evaluation(
        task=task,
        official=scored.summary,
        missing=missing_in(sentences, predictions),
        intervals={metric.name: score_interval(metric, scored.items) for metric in task.metrics},
        against=None
        if against is None
        else _difference(
            task,
            [metric.name for metric in task.metrics],
            scored,
            _scored(task, classes, sentences, against),
        )
        | {"missing": len(missing_in(sentences, against))},
        confusion=_confusion(classes, sentences, predictions) if classes else None,
        reliability=None
        if confidences is None
        else reliability(
            [confidences[s.id] for s in sentences],
            [float(predictions[s.id] == s.label) for s in sentences],
        ),
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
