"""The types that all rooms share: Span, Example, Sentence, Prediction."""

from collections.abc import Set
from dataclasses import dataclass, field

from readlet.errors import ReadletError

N_BEST = 5  # default number of answers that a reader returns
NO_OFFSET = -1  # the start of a gold answer whose place the data does not give


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a context, in characters of the original text, half-open: [start, end)."""

    start: int
    text: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def is_in(self, context: str) -> bool:
        """Law 1: the context has the span's text at exactly this offset."""
        return self.start >= 0 and context.startswith(self.text, self.start)


@dataclass(frozen=True, slots=True)
class Example:
    """A question about a context with all its gold answers; none if it is unanswerable."""

    id: str
    question: str
    context: str
    answers: tuple[Span, ...] = ()
    # The flag of the data file; `data check` compares it with `answers`.
    is_impossible: bool = False
    # Plausible but wrong answers (SQuAD 2.0 lists them for impossible questions).
    plausible_answers: tuple[Span, ...] = ()
    title: str = ""
    language: str = ""
    # False: the data has no field for answers, which is another thing than an empty one.
    is_labelled: bool = True


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence or sentence pair with its label: a row of a GLUE task."""

    id: str
    text: str
    label: int
    second: str | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of the n-best answers: a span of the context, never empty."""

    text: str
    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """A reader's answer: `context[start:end] == text`, or no answer (empty text, start 0)."""

    text: str
    start: int
    end: int
    # Confidence in this answer, between 0 and 1.
    score: float
    # Estimated probability that the passage has no answer, regardless of `text`.
    no_answer: float
    n_best: tuple[Candidate, ...] = field(default=())

    @property
    def is_answer(self) -> bool:
        return bool(self.text)


def check_n_best(n_best: int) -> None:
    """Reject values below 1: a reader needs at least one candidate."""
    if n_best < 1:
        raise ReadletError(f"n_best: {n_best}; must be at least 1")


def free_id(preferred: str, taken: Set[str]) -> str:
    """An unused id for a new Example: the preferred one, with a number appended if it is taken."""
    identity, number = preferred, 2
    while identity in taken:
        identity = f"{preferred}-{number}"
        number += 1
    return identity
