"""Inputs of a reader: questions, options, languages."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict, Unpack

from readlet.errors import ReadletError
from readlet.text.languages import UNKNOWN, guess_language, language_code
from readlet.types import Example, Prediction

if TYPE_CHECKING:
    from readlet.inference.calibration import DocumentOdds

_LEAST_SHARE = 0.02  # of the passages; rarer languages are not learned, or misidentified
_SAMPLE = 2000  # passages: a language of that share has about forty of them


class ForeignLanguages:
    """Finds the passages that a reader with these `known` languages was not trained to read."""

    def __init__(self, known: Sequence[str]) -> None:
        self._known = frozenset(known)

    def of(self, example: Example) -> str:
        """The language of passage or question, given or guessed, if the reader does not know it.

        It is guessed from both texts together: the few common words of a table may fit any
        language, and those of the question usually decide.
        """
        if not self._known:
            return ""
        passage = language_code(example.language) or _guess(example)
        asked = language_code(example.question_language)
        return next((code for code in (passage, asked) if code and code not in self._known), "")

    def message(self, language: str, count: int) -> str:
        known = ", ".join(sorted(self._known))
        where = f"{count:,} × passage or question in {language}"
        return f"{where}: the reader was trained on {known} only; do not rely on its answers there"


def _guess(example: Example) -> str:
    guess = guess_language(f"{example.question}\n{example.context}")
    return "" if guess == UNKNOWN else guess


def languages_of(examples: Iterable[Example]) -> tuple[str, ...]:
    """The languages that a reader can learn from these examples, most frequent first."""
    contexts = list({example.context: example.language for example in examples}.items())
    sample = contexts[:: max(1, len(contexts) // _SAMPLE)]
    counts = Counter(language_code(given) or guess_language(text) for text, given in sample)
    del counts[UNKNOWN]
    return tuple(
        code for code, count in counts.most_common() if count >= _LEAST_SHARE * counts.total()
    )


N_BEST = 5
"""Candidates that a reader returns by default."""
MAX_N_BEST = 10_000


LEVELS = {"always": 0.0, "balanced": 0.5, "strict": 0.85}
"""Named levels of confidence, see docs/confidence.md. `balanced` is the default."""
MinConfidence = float | Literal["always", "balanced", "strict"]


class OptionKeywords(TypedDict, total=False):
    """The options of `AnswerOptions` as keyword arguments."""

    n_best: int
    min_confidence: MinConfidence
    unanswerable_share: float | None
    language: str
    question_language: str


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """How questions are answered. Readers also take each option as a keyword argument.

    >>> from readlet import Reader
    >>> options = AnswerOptions(n_best=2, language="en")
    >>> found = Reader.load().answer("Who came?", "Ada Brook and Tom Hale came.", options)
    >>> len(found.n_best)
    2
    """

    n_best: int = N_BEST
    """Candidates of each prediction."""
    min_confidence: MinConfidence = "balanced"
    """Give an answer if its share of the probability that it is right, or that there is none, is at
    least this: a number from 0 to 1, or `always`, `balanced` or `strict`."""
    unanswerable_share: float | None = None
    """The expected share of questions without an answer: all probabilities are then those for such
    questions. None: the share on which the reader was calibrated; 0: every passage has an answer.
    """
    language: str = ""
    """Language of the passages, as a code such as es, where the data names none; empty: guessed."""
    question_language: str = ""
    """Language of the questions; empty: guessed, or that of the passage."""

    def __post_init__(self) -> None:
        if not _is_number(self.n_best, Integral) or not 1 <= self.n_best <= MAX_N_BEST:
            fault = f"n_best: {self.n_best!r:.40}"
            raise ReadletError(f"{fault}; must be a number from 1 to {MAX_N_BEST:,}")
        level, share = self.min_confidence, self.unanswerable_share
        if not (isinstance(level, str) and level in LEVELS) and not (
            _is_share(level) or (_is_number(level, Real) and level == 1.0)
        ):
            remedy = f"give a number from 0 to 1, or {', '.join(LEVELS)}"
            raise ReadletError(f"min-confidence: {level!r:.40}; {remedy}")
        # At 1 everything would have no answer, whatever the passage.
        if share is not None and not _is_share(share):
            remedy = "give a number from 0 to less than 1"
            raise ReadletError(f"unanswerable-share: {share!r:.40}; {remedy}")
        for code in (self.language, self.question_language):
            if not isinstance(code, str) or (code and not language_code(code)):
                fault = f"language: {code!r:.40} is unknown"
                raise ReadletError(f"{fault}; give a code such as en or es")

    @classmethod
    def parse(
        cls,
        min_confidence: str,
        *,
        unanswerable_share: float | None = None,
        language: str = "",
        question_language: str = "",
    ) -> "AnswerOptions":
        """The options of a command, whose level of confidence is a number or a name, as text."""
        level: Any = min_confidence
        with suppress(ValueError):
            level = float(min_confidence)
        return cls(N_BEST, level, unanswerable_share, language, question_language)

    @property
    def level(self) -> float:
        """`min_confidence` as a number."""
        level = self.min_confidence
        return LEVELS[level] if isinstance(level, str) else float(level)

    def changed(self, **given: Unpack[OptionKeywords]) -> "AnswerOptions":
        """The same with other values, which are checked."""
        return replace(self, **given) if given else self

    def in_languages(self, example: Example) -> Example:
        """The example with the languages of the options, where its data names none."""
        if not self.language and not self.question_language:
            return example
        return replace(
            example,
            language=example.language or self.language,
            question_language=example.question_language or self.question_language,
        )


def _is_number(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _is_share(value: object) -> bool:
    return _is_number(value, Real) and 0.0 <= value < 1.0  # type: ignore[operator]


DEFAULTS = AnswerOptions()
ALL_ANSWERABLE = AnswerOptions(min_confidence="always", unanswerable_share=0.0)
"""Every passage is assumed to have an answer, as in the scores of SQuAD 1.1."""

Asked = Example | tuple[str, str] | Mapping[str, Any]
"""An Example, whose labels are ignored; (question, context); or a dict with "question" and
"context", whose other keys are ignored.

Readers that distinguish languages also read "language", that of the context, and
"question_language"; what is missing is guessed.
"""

MAX_PASSAGES = 10
"""The default number of pieces of documents that are read for a question.

The more pieces are read, the more often one of them seems to answer an unanswerable question.
"""

_REMEDY = 'give pairs (question, context) or dicts with "question" and "context"'


def as_examples(asked: Iterable[Asked]) -> Iterator[Example]:
    """Questions, one at a time; anything but examples, pairs and dicts is an error."""
    if isinstance(asked, (str, Mapping)) or not isinstance(asked, Iterable):
        raise ReadletError(f"answer_batch: a single {_kind(asked)}, not a list; {_REMEDY}")
    for number, item in enumerate(asked, 1):
        example = _example(item, f"item {number}")
        for name, text in (("question", example.question), ("context", example.context)):
            if not isinstance(text, str):
                fault = f"item {number}: its {name} is a {_kind(text)}, not text"
                raise ReadletError(f"{fault}; {_REMEDY}")
        yield example


def _example(item: Any, place: str) -> Example:
    if isinstance(item, Example):
        return item
    if isinstance(item, (tuple, list)) and len(item) == 2:
        return Example("", *item)
    if not isinstance(item, Mapping):
        size = f" of {len(item)}" if isinstance(item, (tuple, list)) else ""
        raise ReadletError(f"{place}: a {_kind(item)}{size}; {_REMEDY}")
    missing = [key for key in ("question", "context") if key not in item]
    if missing:
        raise ReadletError(f"{place}: a dict without {missing[0]!r}; {_REMEDY}")
    return Example(
        "",
        item["question"],
        item["context"],
        language=str(item.get("language") or ""),
        question_language=str(item.get("question_language") or ""),
    )


def _kind(value: Any) -> str:
    return type(value).__name__


class Answerer(Protocol):
    """Answers questions: a trained reader, or the baseline."""

    @property
    def name(self) -> str: ...

    @property
    def takes_unanswerable_share(self) -> bool:
        """Whether `unanswerable_share` moves its no-answer probability; an error elsewhere."""
        ...

    @property
    def document_odds(self) -> "DocumentOdds":
        """Combines its answers from many documents; here by Bayes' rule, without fitting."""
        from readlet.inference.calibration import DocumentOdds

        return DocumentOdds(relevance=1.0, evidence=1.0, bias=0.0)

    def answer_batch(
        self,
        asked: Iterable[Asked],
        options: AnswerOptions = DEFAULTS,
        **given: Unpack[OptionKeywords],
    ) -> Iterator[Prediction]:
        """Predictions in the order of the questions; any number of them in constant memory.

        `options` may also be given as keyword arguments; the languages of a question itself take
        precedence.
        """
        ...

    def answer(
        self,
        question: str,
        context: str,
        options: AnswerOptions = DEFAULTS,
        **given: Unpack[OptionKeywords],
    ) -> Prediction:
        """The answer to a question, with its offsets in the context, or none.

        The options of `AnswerOptions` may be given as keyword arguments: `n_best=3`.
        """
        asked = Example("", question, context)
        (prediction,) = self.answer_batch([asked], options, **given)
        return prediction


_MOST_CHARACTERS = 50_000  # some seconds of reading


def is_passage(text: str) -> bool:
    """Whether a reader reads it as a whole; a longer one is asked by its most relevant pieces."""
    return len(text) <= _MOST_CHARACTERS
