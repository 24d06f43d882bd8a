"""Which of the languages that a reader knows its texts are in: given by the data, or guessed."""

from collections.abc import Sequence

from readlet.encoding.language_guess import guess_language
from readlet.encoding.languages import language_code
from readlet.encoding.multilingual_vectors import ANY
from readlet.types import Example


class TextLanguages:
    """The languages of contexts and questions; `ANY` if unknown, or none that the reader knows.

    A question may be in another language than its context. If nothing says which, and its words
    do not show it either, it is in that of its context.
    """

    def __init__(self, languages: Sequence[str]) -> None:
        self._known = frozenset(languages)
        self._guessed: dict[str, str] = {}

    def texts(self, example: Example) -> tuple[tuple[str, str], tuple[str, str]]:
        """Context and question, each with its language."""
        if not self._known:
            return (example.context, ANY), (example.question, ANY)
        given, asked = language_code(example.language), language_code(example.question_language)
        context = self._known_one(given or self._guess(example.context))
        question = self._known_one(asked or self._guess(example.question))
        if not asked and not question:
            question = context
        return (example.context, context), (example.question, question)

    def _guess(self, text: str) -> str:
        if text not in self._guessed:
            self._guessed[text] = guess_language(text)
        return self._guessed[text]

    def _known_one(self, language: str) -> str:
        return language if language in self._known else ANY
