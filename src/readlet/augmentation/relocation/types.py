"""What relocation gives: an answer with the stages that found it, or a loss with a reason."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from readlet.types import Span

Keep = Literal["strict", "verified", "all"]
"""Which located answers are kept.

strict: the translated answer, case aside, stands in the translated context: the rule of
Signorelli and Sirocchi.
verified: two independent kinds of evidence agree on the span.
all: whatever the best stage found.
"""


class Stage(StrEnum):
    """A way to find an answer, from the most to the least certain."""

    BRACKETS = "brackets"  # signs around the answer that survive translation, as words
    EXACT = "exact"  # the answer, translated alone
    INFLECTED = "inflected"  # the same except for case, accents, endings and border words
    ALIGNED = "aligned"  # the words that the answer's words became
    GUILLEMETS = "guillemets"  # such signs again, as white space: words may move across them
    BIGRAMS = "bigrams"  # the rule of QANet: words that share character 2-grams with the answer


class Loss(StrEnum):
    """Why an answer is lost."""

    NO_OFFSET = "the data does not give the answer's place"
    NO_TRANSLATION = "the translation of its sentence or of the answer is empty"
    NOT_IN_CONTEXT = "the translated answer is not in the translated context"
    NOT_FOUND = "no stage finds it"
    NOT_VERIFIED = "no two stages agree on it"


@dataclass(frozen=True, slots=True)
class Located:
    """An answer in the translated context; the span is whole words wherever words have spaces."""

    span: Span
    stages: tuple[Stage, ...]  # those that agree on the span, the most certain first
    verified: bool


@dataclass(frozen=True, slots=True)
class Lost:
    """An answer that is not kept."""

    answer: Span  # in the original context
    reason: Loss


@dataclass(frozen=True, slots=True)
class Relocated:
    """What became of the answers of one question, repeated ones once.

    The question is lost if it had answers and none of them is located.
    """

    answers: tuple[Located, ...]
    plausible_answers: tuple[Located, ...]
    lost: tuple[Lost, ...]  # gold answers
    lost_plausible: tuple[Lost, ...]
