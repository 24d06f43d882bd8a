"""The types that all rooms share: Span, Example, Sentence, Prediction, Classification."""

from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace

NO_OFFSET = -1  # the start of a gold answer without an offset in the data


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a context, in characters of the original text, half-open: [start, end).

    >>> span = Span(4, "kiln")
    >>> span.end, span.is_in("The kiln is old.")
    (8, True)
    """

    start: int
    text: str

    @property
    def end(self) -> int:
        """The first character after it."""
        return self.start + len(self.text)

    def is_in(self, context: str) -> bool:
        """Whether the context has the span's text at exactly this offset."""
        return self.start >= 0 and context.startswith(self.text, self.start)


@dataclass(frozen=True, slots=True)
class Example:
    """A question about a context with all its gold answers; none if it is unanswerable.

    >>> text = "The kiln was built in 1881."
    >>> example = Example("1", "When was it built?", text, (Span(22, "1881"),))
    >>> all(answer.is_in(example.context) for answer in example.answers)
    True
    """

    id: str
    question: str
    context: str
    answers: tuple[Span, ...] = ()
    is_impossible: bool = False
    """The flag of the data file; `data check` compares it with `answers`."""
    plausible_answers: tuple[Span, ...] = ()
    """Plausible but wrong answers (SQuAD 2.0 lists them for impossible questions)."""
    title: str = ""
    language: str = ""
    """Language of the context, and of the question unless it has its own; empty: not given."""
    question_language: str = ""
    is_labelled: bool = True
    """False: the data has no field for answers, as opposed to an empty one."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A text or a pair of texts with a label: a number or the name of a class, as text.

    The set of classes and their order belong to a classifier.

    >>> Sentence("1", "The lamp works well.", "good").second is None
    True
    """

    id: str
    text: str
    label: str | None
    """None: unlabelled, for predictions only."""
    second: str | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of the n-best answers: a span of the context, never empty.

    >>> text = "Ada Brook built the kiln in 1881."
    >>> best, *others = Reader.load().answer("Who built the kiln?", text, n_best=3).n_best
    >>> best.text, best.sentence
    ('Ada Brook', 'Ada Brook built the kiln in 1881.')
    """

    text: str
    start: int
    end: int
    score: float
    """Estimated probability that this is a right answer."""
    sentence: str = ""
    """Its sentence, or line of a list or table."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A reader's answer: `context[start:end] == text`, or none (empty text, start 0).

    Either the passage has no answer, or one of the candidates is right, or another span is: so
    the scores of all candidates and `no_answer` add up to at most 1.

    >>> found = Reader.load().answer("What did it cost?", "The kettle was patented in 1891.")
    >>> found.abstained, found.text, found.certainty
    (True, '', 'sure')
    """

    text: str
    start: int
    end: int
    score: float
    """Estimated probability that the best candidate is right, whether or not it is given."""
    no_answer: float
    """Estimated probability that the passage has no answer."""
    abstained: bool
    """Whether the reader abstains: there is probably no answer."""
    n_best: tuple[Candidate, ...] = field(default=())
    unknown_language: str = ""
    """The language of the passage or question, if the reader was not trained on it."""
    certainty: str = ""  # always computed; without `init` pydantic would leave it out of the API
    """The confidence in a word, see `certainty_of`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "certainty", certainty_of(self.confidence))

    @classmethod
    def choose(
        cls, candidates: Sequence[Candidate], no_answer: float, level: float
    ) -> "Prediction":
        """The best candidate, or no answer: the lower expected cost decides (docs/confidence.md).

        The answer is given if it is right with at least the probability `level`, given that either
        it is right or there is none. The candidates come best first, with their probabilities given
        that there is an answer.
        """
        if not candidates:
            return cls("", 0, 0, 0.0, no_answer, True)
        ranked = tuple(replace(c, score=(1.0 - no_answer) * c.score) for c in candidates)
        best = ranked[0]
        if best.score < level * (best.score + no_answer):
            return cls("", 0, 0, best.score, no_answer, True, ranked)
        return cls(best.text, best.start, best.end, best.score, no_answer, False, ranked)

    def at_threshold(self, threshold: float) -> "Prediction":
        """The prediction if the reader abstains above this no-answer probability; scores stay.

        SQuAD 2.0 compares readers in this way, whatever the cost of errors.
        """
        if not self.n_best or self.no_answer > threshold:
            return replace(self, text="", start=0, end=0, abstained=True)
        best = self.n_best[0]
        return replace(self, text=best.text, start=best.start, end=best.end, abstained=False)

    @property
    def confidence(self) -> float:
        """Estimated probability that this prediction is right, answer or "no answer"."""
        return self.no_answer if self.abstained else self.score


@dataclass(frozen=True, slots=True)
class Classification:
    """What a classifier predicts for a text: a class, or a value (regression).

    >>> found = Classification("good", 0.9, {"bad": 0.1, "good": 0.9})
    >>> max(found.probabilities, key=found.probabilities.get) == found.label
    True
    """

    label: str
    """The likeliest class; or the value, as text."""
    probability: float | None
    """Estimated probability that the label is right; None for a value."""
    probabilities: dict[str, float]
    """By class, in the classifier's order; they add up to 1. Empty for a value."""
    value: float | None = None
    """None for a class."""


SURE, LIKELY = 0.8, 0.5


def certainty_of(confidence: float) -> str:
    """A confidence in words: sure (right four times of five, or more often), likely, or unsure."""
    return "sure" if confidence >= SURE else "likely" if confidence >= LIKELY else "unsure"


def free_id(preferred: str, taken: Set[str]) -> str:
    """An unused id for a new Example: the preferred one, with a number appended if it is taken."""
    identity, number = preferred, 2
    while identity in taken:
        identity = f"{preferred}-{number}"
        number += 1
    return identity
