"""The vocabulary: ids of words and characters.

Word ids: 0 padding, 1 unknown, 2 the null place, then words with trainable vectors, then words
with frozen vectors. Character ids: 0 padding, 1 unknown, then the known characters.

If it knows languages, its words are (language, word) pairs, written `es:palabra`; those without a
language serve for all. Language ids: 0 unknown, then the known languages.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any
from unicodedata import normalize

import numpy as np

from readlet.text.languages import LANGUAGES
from readlet.text.vectors import ANY, Matrix, joined

PADDING, UNKNOWN, NULL = 0, 1, 2
UNKNOWN_LANGUAGE = 0
SPECIAL_WORDS = 3
SPECIAL_CHARACTERS = 2
MAX_CHARACTERS = 64
"""The most characters that are read of a word, the limit of the recipe too."""
Form = tuple[str, str]
"""A word as written, after its language; `ANY` if that is unknown, or if no language is known."""


@dataclass(frozen=True)
class Vocabulary:
    """Words and characters in the order of their ids, after the special ones."""

    trainable: tuple[str, ...]
    frozen: tuple[str, ...]
    characters: str
    max_characters: int
    languages: tuple[str, ...] = ()

    @cached_property
    def _words(self) -> dict[str, int]:
        listed = (*self.trainable, *self.frozen)
        return {word: number for number, word in enumerate(listed, SPECIAL_WORDS)}

    @cached_property
    def _characters(self) -> dict[str, int]:
        return {char: number for number, char in enumerate(self.characters, SPECIAL_CHARACTERS)}

    @cached_property
    def _languages(self) -> dict[str, int]:
        return {language: number for number, language in enumerate(self.languages, 1)}

    def to_json(self) -> dict[str, Any]:
        values = asdict(self)
        if not self.languages:  # as readers were stored before there were languages
            del values["languages"]
        return values

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Vocabulary":
        trainable, frozen = values["trainable"], values["frozen"]
        characters, longest = values["characters"], values["max_characters"]
        languages = values.get("languages", ())
        for listed in (trainable, frozen):
            if not isinstance(listed, (list, tuple)) or not set(map(type, listed)) <= {str}:
                raise ValueError("words: not a list of texts")
        if not isinstance(characters, str):
            raise ValueError("characters: not a text")
        if type(longest) is not int or not 1 <= longest <= MAX_CHARACTERS:
            allowed = f"a number from 1 to {MAX_CHARACTERS}"
            raise ValueError(f"max_characters: {longest!r:.40} instead of {allowed}")
        if not isinstance(languages, (list, tuple)) or not LANGUAGES.issuperset(languages):
            raise ValueError("languages: not a list of codes")
        return cls(tuple(trainable), tuple(frozen), characters, longest, tuple(languages))

    @property
    def trainable_rows(self) -> int:
        return SPECIAL_WORDS + len(self.trainable)

    @property
    def character_count(self) -> int:
        return SPECIAL_CHARACTERS + len(self.characters)

    def word_number(self, word: str, language: str = ANY) -> int:
        """As written, else composed, else in lower case with a plain apostrophe, else unknown.

        A word that is not known in its language is looked up in the others: names and numbers are
        often spelled alike.
        """
        known = self._words
        for form in _spellings(word, language, self.languages):
            if form in known:
                return known[form]
        return UNKNOWN

    def language_number(self, language: str) -> int:
        return self._languages.get(language, UNKNOWN_LANGUAGE)

    def character_numbers(self, word: str) -> list[int]:
        known = self._characters
        read = composed(word)[: self.max_characters]
        numbers = [known.get(char, UNKNOWN) for char in read]
        return numbers + [PADDING] * (self.max_characters - len(numbers))


def composed(word: str) -> str:
    """NFC: é is one character, even if it was written as e and a combining accent."""
    return word if word.isascii() else normalize("NFC", word)


def plain(word: str) -> str:
    """The form under which vector files list a word."""
    return composed(word).lower().replace("’", "'")


def _spellings(word: str, language: str, languages: tuple[str, ...]) -> Sequence[str]:
    """How a word may be listed, the surest way first."""
    forms = (word, composed(word), plain(word))
    if language == ANY and not languages:  # all words of most readers: it must be fast
        return forms
    codes = dict.fromkeys((language, ANY, *languages))
    return [_listed(code, form) for code in codes for form in forms]


def _listed(language: str, word: str) -> str:
    return word if language == ANY else joined(language, word)


def build_vocabulary(
    counts: Counter[Form],
    vector_words: list[str],
    *,
    trainable_words: int,
    min_count: int,
    min_character_count: int,
    max_characters: int,
    languages: tuple[str, ...] = (),
) -> Vocabulary:
    """`counts` are the words of the training questions and contexts, as written.

    With `languages`, the words with a vector are written behind their language.
    """
    with_vector = frozenset(vector_words)
    characters: Counter[str] = Counter()
    without: Counter[str] = Counter()
    for (language, word), count in counts.items():
        for character in composed(word):
            characters[character] += count
        if with_vector.isdisjoint(_spellings(word, language, languages)):
            without[_listed(language, plain(word))] += count
    frequent = [word for word, count in _ordered(without) if count >= min_count]
    seen = [char for char, count in _ordered(characters) if count >= min_character_count]
    return Vocabulary(
        tuple(frequent[:trainable_words]),
        tuple(vector_words),
        "".join(seen),
        max_characters,
        languages,
    )


def frozen_table(vocabulary: Vocabulary, vectors: Matrix | None, width: int) -> Matrix:
    """(rows, width): zeros for the trainable rows, then the given vectors."""
    top = np.zeros((vocabulary.trainable_rows, width), np.float32)
    return top if vectors is None else np.concatenate([top, vectors])


def _ordered(counts: Counter[str]) -> Iterable[tuple[str, int]]:
    """Most frequent first; ties alphabetically, so that the order of the data does not matter."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
