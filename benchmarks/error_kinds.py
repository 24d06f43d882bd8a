"""Classify wrong answers by simple rules."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from readlet.evaluation.squad import Rules, normalise, score_questions
from readlet.text.languages import FUNCTION_WORDS
from readlet.text.words import words
from readlet.types import Example, Prediction, Span

ErrorKind = Literal["borders", "same form", "elsewhere", "abstained", "answered"]

ERROR_KINDS: dict[ErrorKind, str] = {
    "borders": "overlaps a gold answer, or is a longer or shorter form of it",
    "same form": "another span of the same type: a number for a number, or a name for a name",
    "elsewhere": "another span, not recognisably of the same type",
    "abstained": "no answer predicted, although there is one",
    "answered": "an answer predicted, although there is none",
}

_ARTICLES = frozenset(("a", "an"))
_CAPITAL_NOUNS = frozenset(("de", "lb"))  # languages that capitalise all nouns, not only names


@dataclass(frozen=True)
class WrongAnswer:
    """A question without an exact match, its prediction, and the kind of error."""

    example: Example
    prediction: Prediction
    kind: ErrorKind


def error_kind(example: Example, prediction: Prediction, rules: Rules) -> ErrorKind | None:
    """None if the prediction is an exact match by the official rules."""
    if score_questions([example], {example.id: prediction.text}, rules).exact[0]:
        return None
    if prediction.abstained:
        return "abstained"
    if not example.answers:
        return "answered"
    if any(_overlap(prediction, gold) or _is_part(prediction, gold) for gold in example.answers):
        return "borders"
    predicted = _form(prediction.text, example.language)
    forms = {_form(gold.text, example.language) for gold in example.answers}
    return "same form" if predicted is not None and predicted in forms else "elsewhere"


def wrong_answers(
    examples: Iterable[Example], predictions: Mapping[str, Prediction], rules: Rules
) -> list[WrongAnswer]:
    """Every wrong answer, in the order of the data; each question needs a prediction."""
    found = []
    for example in examples:
        prediction = predictions[example.id]
        kind = error_kind(example, prediction, rules)
        if kind is not None:
            found.append(WrongAnswer(example, prediction, kind))
    return found


def count_kinds(wrong: Iterable[WrongAnswer]) -> dict[ErrorKind, int]:
    """Number of errors of each kind, including kinds with none."""
    kinds = [error.kind for error in wrong]
    return {kind: kinds.count(kind) for kind in ERROR_KINDS}


def sample_by_kind(
    wrong: Sequence[WrongAnswer], per_kind: int, *, seed: int = 0
) -> list[WrongAnswer]:
    """A random sample of each kind, independent of the data's order and of the other kinds."""
    drawn = []
    for kind in ERROR_KINDS:
        members = sorted((e for e in wrong if e.kind == kind), key=lambda e: e.example.id)
        drawn += random.Random(f"{seed} {kind}").sample(members, min(per_kind, len(members)))
    return drawn


def _overlap(prediction: Prediction, gold: Span) -> bool:
    return max(prediction.start, gold.start) < min(prediction.end, gold.end)


def _is_part(prediction: Prediction, gold: Span) -> bool:
    """Whether one contains the other as a sequence of words, wherever they are in the context."""
    predicted, expected = normalise(prediction.text), normalise(gold.text)
    if not predicted or not expected:
        return False
    return f" {predicted} " in f" {expected} " or f" {expected} " in f" {predicted} "


def _form(text: str, language: str) -> Literal["number", "name"] | None:
    """A number begins with a digit; in a name every content word has a capital letter."""
    small = FUNCTION_WORDS.get(language or "en", frozenset()) | _ARTICLES
    content = [w for w in words(text) if w[0].isalnum() and w.casefold() not in small]
    if not content:
        return None
    if content[0][0].isdigit():
        return "number"
    is_name = all(word[0].isupper() or word[0].isdigit() for word in content)
    return "name" if is_name and language not in _CAPITAL_NOUNS else None
