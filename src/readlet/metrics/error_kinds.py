"""In which way an answer is wrong, decided by rules that need no judgement."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from readlet.encoding.function_words import FUNCTION_WORDS
from readlet.encoding.words import words
from readlet.metrics.squad import Rules, normalise, score_questions
from readlet.types import Example, Prediction, Span

ErrorKind = Literal["borders", "same form", "elsewhere", "refused", "answered"]

ERROR_KINDS: dict[ErrorKind, str] = {
    "borders": "overlaps a gold answer, or is a longer or shorter form of one",
    "same form": "another place; a number for a number, or a name for a name",
    "elsewhere": "another place, and not visibly of the same form",
    "refused": "no answer given, although there is one",
    "answered": "an answer given, although there is none",
}

_ARTICLES = frozenset(("a", "an"))
_CAPITAL_NOUNS = frozenset(("de", "lb"))  # languages in which a capital letter makes no name


@dataclass(frozen=True)
class WrongAnswer:
    """A question that was not answered exactly, what was said, and the kind of error."""

    example: Example
    prediction: Prediction
    kind: ErrorKind


def error_kind(example: Example, prediction: Prediction, rules: Rules) -> ErrorKind | None:
    """None when the official rules call the answer exactly right."""
    if score_questions([example], {example.id: prediction.text}, rules).exact[0]:
        return None
    if not prediction.is_answer:
        return "refused"
    if not example.answers:
        return "answered"
    if any(_overlap(prediction, gold) or _is_part(prediction, gold) for gold in example.answers):
        return "borders"
    said = _form(prediction.text, example.language)
    forms = {_form(gold.text, example.language) for gold in example.answers}
    return "same form" if said is not None and said in forms else "elsewhere"


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
    """How often each kind occurs; a kind that does not occur has 0."""
    kinds = [error.kind for error in wrong]
    return {kind: kinds.count(kind) for kind in ERROR_KINDS}


def sample_by_kind(
    wrong: Sequence[WrongAnswer], per_kind: int, *, seed: int = 0
) -> list[WrongAnswer]:
    """Some of each kind, drawn by chance; neither the data's order nor other kinds matter."""
    drawn = []
    for kind in ERROR_KINDS:
        members = sorted((e for e in wrong if e.kind == kind), key=lambda e: e.example.id)
        drawn += random.Random(f"{seed} {kind}").sample(members, min(per_kind, len(members)))
    return drawn


def _overlap(prediction: Prediction, gold: Span) -> bool:
    return max(prediction.start, gold.start) < min(prediction.end, gold.end)


def _is_part(prediction: Prediction, gold: Span) -> bool:
    """Whether one holds all words of the other in a row: the same thing, said elsewhere."""
    said, wanted = normalise(prediction.text), normalise(gold.text)
    if not said or not wanted:
        return False
    return f" {said} " in f" {wanted} " or f" {wanted} " in f" {said} "


def _form(text: str, language: str) -> Literal["number", "name"] | None:
    """A number begins with a digit; in a name every word of content has a capital letter."""
    small = FUNCTION_WORDS.get(language or "en", frozenset()) | _ARTICLES
    content = [w for w in words(text) if w[0].isalnum() and w.casefold() not in small]
    if not content:
        return None
    if content[0][0].isdigit():
        return "number"
    is_name = all(word[0].isupper() or word[0].isdigit() for word in content)
    return "name" if is_name and language not in _CAPITAL_NOUNS else None
