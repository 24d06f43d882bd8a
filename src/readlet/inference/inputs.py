"""Passages in a language that a reader was not trained on: its answers there mean little.

What readers are asked: pairs of texts, or dicts as Hugging Face users write them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from readlet.errors import ReadletError
from readlet.text.languages import UNKNOWN, guess_language, language_code
from readlet.types import Example

_LEAST_SHARE = 0.02  # of the passages; what is rarer is no training, or a wrong guess
_SAMPLE = 2000  # passages: a language of that share has some forty of them


class ForeignLanguages:
    """Finds the passages that a reader with these `known` languages was not trained to read."""

    def __init__(self, known: Sequence[str]) -> None:
        self._known = frozenset(known)

    def of(self, example: Example) -> str:
        """The language of passage or question if it is given or guessed, and not known; or "".

        The guess is that of both texts: the few common words of a table may seem to be of any
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


Asked = tuple[str, str] | Mapping[str, Any]
"""(question, context), or a dict with "question" and "context"; its other keys are ignored.

Readers that distinguish languages also read "language", that of the context, and
"question_language"; what is missing is guessed.
"""

MAX_PASSAGES = 10
"""Of many documents, the pieces that are read for a question by default.

The more pieces are read, the more often one of them seems to answer an unanswerable question.
"""

_REMEDY = 'give pairs (question, context) or dicts with "question" and "context"'


def asked_of(example: Example) -> dict[str, str]:
    """What a reader is asked about an example."""
    return {
        "question": example.question,
        "context": example.context,
        "language": example.language,
        "question_language": example.question_language,
    }


def in_languages(example: Example, language: str, question_language: str) -> Example:
    """The example in these languages, where its data does not name others."""
    if not language and not question_language:
        return example
    return replace(
        example,
        language=example.language or language,
        question_language=example.question_language or question_language,
    )


def check_languages(*codes: str) -> None:
    """Reject what is neither empty nor a code, with or without a region."""
    for code in codes:
        if not isinstance(code, str) or (code and not language_code(code)):
            raise ReadletError(f"language: {code!r:.40} is unknown; give a code such as en or es")


def as_examples(asked: Iterable[Asked]) -> Iterator[Example]:
    """Unlabelled questions, one at a time; anything but pairs and dicts is an error."""
    if isinstance(asked, (str, Mapping)) or not isinstance(asked, Iterable):
        raise ReadletError(f"answer_batch: a single {_kind(asked)}, not a list; {_REMEDY}")
    for number, item in enumerate(asked, 1):
        yield _example(item, f"item {number}")


def as_pairs(asked: Iterable[Asked]) -> Iterator[tuple[str, str]]:
    """Pairs (question, context), one at a time."""
    return ((example.question, example.context) for example in as_examples(asked))


def _example(item: Any, place: str) -> Example:
    languages = ("", "")
    if isinstance(item, Mapping):
        missing = [key for key in ("question", "context") if key not in item]
        if missing:
            raise ReadletError(f"{place}: a dict without {missing[0]!r}; {_REMEDY}")
        question, context = item["question"], item["context"]
        languages = str(item.get("language") or ""), str(item.get("question_language") or "")
    elif isinstance(item, (tuple, list)) and len(item) == 2:
        question, context = item
    else:
        size = f" of {len(item)}" if isinstance(item, (tuple, list)) else ""
        raise ReadletError(f"{place}: a {_kind(item)}{size}; {_REMEDY}")
    for name, text in (("question", question), ("context", context)):
        if not isinstance(text, str):
            raise ReadletError(f"{place}: its {name} is a {_kind(text)}, not text; {_REMEDY}")
    language, question_language = languages
    return Example("", question, context, language=language, question_language=question_language)


def _kind(value: Any) -> str:
    return type(value).__name__
