"""Passages in a language that a reader was not trained on: its answers there mean little."""

from collections import Counter
from collections.abc import Iterable, Sequence

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
