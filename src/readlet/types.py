"""The nouns that every room speaks: Span, Example, Sentence, Prediction."""

from collections.abc import Set
from dataclasses import dataclass, field

from readlet.errors import ReadletError

N_BEST = 5  # answers that a reader keeps, unless more are asked for


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a context, in characters of the original text, half-open: [start, end)."""

    start: int
    text: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def is_in(self, context: str) -> bool:
        """Law 1: the span's text stands in the context at exactly this place."""
        return self.start >= 0 and context.startswith(self.text, self.start)


@dataclass(frozen=True, slots=True)
class Example:
    """A question about a context, with every gold answer; none when it cannot be answered."""

    id: str
    question: str
    context: str
    answers: tuple[Span, ...] = ()
    # What the data itself says; `data check` compares it with `answers`.
    is_impossible: bool = False
    # Wrong answers that tempt a reader (SQuAD 2.0 lists them for impossible questions).
    plausible_answers: tuple[Span, ...] = ()
    title: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, or a pair of them, with its class: a row of a GLUE task."""

    id: str
    text: str
    label: int
    second: str | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of the answers that a reader considered: a piece of the context, never empty."""

    text: str
    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a reader says: `context[start:end] == text`, or no answer (empty text, place 0)."""

    text: str
    start: int
    end: int
    # Probability-like confidence in this very answer, between 0 and 1.
    score: float
    # Probability-like belief that the passage holds no answer, whatever `text` says.
    no_answer: float
    n_best: tuple[Candidate, ...] = field(default=())

    @property
    def is_answer(self) -> bool:
        return bool(self.text)


def check_n_best(n_best: int) -> None:
    """Readers call it: without any candidate there would be no answer to give."""
    if n_best < 1:
        raise ReadletError(f"n_best: {n_best}; ask for at least 1")


def free_id(wish: str, taken: Set[str]) -> str:
    """An id for a new Example: the one wished for, or with a number behind it if that is taken."""
    identity, number = wish, 2
    while identity in taken:
        identity = f"{wish}-{number}"
        number += 1
    return identity
