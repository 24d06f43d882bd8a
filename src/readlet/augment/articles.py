"""Which article a question is of: its title and its language."""

from collections import defaultdict
from collections.abc import Sequence

from readlet.inspection.languages import UNKNOWN, guess_language
from readlet.types import Example

Article = tuple[str, str]


class Articles:
    """The articles of some questions, with languages guessed where the data does not tell them.

    A translated article often keeps its title; a change of language would give a pair away, and
    the translation of a question's own paragraph answers it.
    """

    def __init__(self, examples: Sequence[Example]) -> None:
        untold = {example.context for example in examples if not example.language}
        self._guessed = {context: guess_language(context) for context in untold}
        known: defaultdict[str, set[str]] = defaultdict(set)
        for example in examples:
            known[example.title].add(self._language(example))
        self._known = {title: languages - {UNKNOWN} for title, languages in known.items()}

    def of(self, example: Example) -> Article:
        language = self._language(example)
        known = self._known[example.title]
        if language == UNKNOWN and len(known) == 1:  # too short to tell, and no reason to doubt
            (language,) = known
        return example.title, language

    def _language(self, example: Example) -> str:
        return example.language or self._guessed[example.context]
