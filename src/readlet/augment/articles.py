"""The article that a question belongs to, identified by title and language."""

from collections import defaultdict
from collections.abc import Sequence

from readlet.encoding.language_guess import UNKNOWN, guess_language
from readlet.types import Example

Article = tuple[str, str]


class Articles:
    """The articles of some questions; missing languages are guessed.

    The language matters because a translated article often keeps its title. A question paired
    with a paragraph in another language would be trivial to detect, and the translation of its own
    paragraph answers it.
    """

    def __init__(self, examples: Sequence[Example]) -> None:
        unlabelled = {example.context for example in examples if not example.language}
        self._guessed = {context: guess_language(context) for context in unlabelled}
        known: defaultdict[str, set[str]] = defaultdict(set)
        for example in examples:
            known[example.title].add(self._language(example))
        self._known = {title: languages - {UNKNOWN} for title, languages in known.items()}

    def of(self, example: Example) -> Article:
        language = self._language(example)
        known = self._known[example.title]
        if language == UNKNOWN and len(known) == 1:  # too short for a guess
            (language,) = known
        return example.title, language

    def _language(self, example: Example) -> str:
        return example.language or self._guessed[example.context]
