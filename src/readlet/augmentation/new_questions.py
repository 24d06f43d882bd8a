"""Shared by all methods that make unanswerable questions: result type and random draws.

The article that a question belongs to, identified by title and language.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from readlet.text.languages import UNKNOWN, guess_language
from readlet.types import Example


@dataclass(frozen=True, slots=True)
class NewQuestions:
    """The new questions, the original of each, how many were wanted, and two mappings of ids.

    `kinds` has the new ids by kind of alteration; `left` has the ids of questions that could not be
    used, by reason.
    """

    added: list[Example]
    originals: list[Example]
    wanted: int
    kinds: Mapping[str, list[str]]
    left: Mapping[str, list[str]]


def draw(example: Example, seed: int, *purpose: str) -> bytes:
    """A random number per question that does not depend on the process or the order."""
    text = "\0".join((str(seed), example.id, example.question, example.context, *purpose))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def plain(text: str) -> str:
    """The text case-folded, with normalised white space."""
    return " ".join(text.casefold().split())


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
