"""Words as numbers: the vocabulary of words and characters, and Examples in its numbers.

Word ids: 0 padding, 1 unknown, 2 the null position, then words with trainable vectors, then
words with frozen vectors. Character ids: 0 padding, 1 unknown, then the known characters. If the
vocabulary knows languages, its words are (language, word) pairs, written `es:palabra`; those
without a language serve for all. Language ids: 0 unknown, then the known languages.

A *form* is a word as written, in a language if the vocabulary knows languages. Each distinct text
and form is encoded once, however often it occurs. Texts are runs of form numbers in one long array.
Tables map each form to its word number, its characters, its language and its key (forms that match
each other share a key, in whatever language).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any
from unicodedata import normalize

import numpy as np

from readlet.text.languages import LANGUAGES, guess_language, language_code
from readlet.text.rows import (
    LONG_QUESTION,
    Ints,
    RowBuilder,
    Rows,
    SizedCache,
    Stored,
    Windows,
    ints,
)
from readlet.text.vectors import ANY, Matrix, joined
from readlet.text.words import word_spans
from readlet.types import Example

PADDING, UNKNOWN, NULL = 0, 1, 2
UNKNOWN_LANGUAGE = 0
SPECIAL_WORDS = 3
SPECIAL_CHARACTERS = 2
MAX_CHARACTERS = 64
"""The most characters that are read of a word, also the limit in the recipe."""
Form = tuple[str, str]
"""Language and word as written; the language is `ANY` if it is unknown or not distinguished."""


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
        if not self.languages:  # readers stored before there were languages
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
    """The spellings under which a word may be listed, the most precise first."""
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

    With `languages`, the words with a vector have a language prefix.
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


class TextLanguages:
    """The languages of contexts and questions; `ANY` if unknown, or none that the reader knows.

    A question may be in another language than its context. If it is not given, and its words
    do not show it either, it is that of the context.
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


PADDING_FORM, NULL_FORM = 0, 1
Spans = list[tuple[int, int]]
Split = Callable[[list[str]], list[Spans]]
"""Finds the words of texts."""


@dataclass(kw_only=True)
class Features(Rows):
    """Rows of words. A position is a word; `forms` and `offsets` run in parallel over all texts."""

    form_words: Ints  # (forms,) word number
    form_characters: Ints  # (forms, max_characters)
    form_languages: Ints  # (forms,) language number
    form_keys: Ints  # (forms,) equal for forms that match
    forms: Ints  # (words of all texts,)
    row_question: Ints  # (rows, 2) first word of the question in `forms`, and number of words read


def count_words(examples: Iterable[Example], languages: Sequence[str] = ()) -> Counter[Form]:
    """Every word of every distinct text, as written, with its language."""
    counts: Counter[Form] = Counter()
    known = TextLanguages(languages)
    for text, language in dict.fromkeys(pair for e in examples for pair in known.texts(e)):
        counts.update([(language, text[start:end]) for start, end in word_spans(text)])
    return counts


def split_words(texts: list[str]) -> list[Spans]:
    return [word_spans(text) for text in texts]


def encode(
    examples: Sequence[Example],
    vocabulary: Vocabulary,
    windows: Windows,
    split: Split = split_words,
) -> Features:
    """Number all texts and cut them into rows. `split` finds their words, or remembers them."""
    texts, rows, known = _Texts(split), RowBuilder(windows), TextLanguages(vocabulary.languages)
    questions: list[tuple[int, int]] = []
    for number, example in enumerate(examples):
        context, question = map(texts.number, known.texts(example))
        asked = len(texts.spans[question])
        longest = windows.longest_question([texts.languages[question]])
        if asked > longest:
            rows.note(LONG_QUESTION, example)
            asked = longest
        added = rows.add(number, example, texts.spans[context], texts.starts[context])
        questions += [(texts.starts[question], asked)] * added
    return Features(
        **texts.form_tables(vocabulary),
        **rows.arrays(),
        forms=np.concatenate([ints(forms) for forms in texts.forms] or [ints([])]),
        offsets=np.concatenate(
            [ints(spans).reshape(-1, 2) for spans in texts.spans] or [ints([]).reshape(-1, 2)]
        ),
        row_question=ints(questions).reshape(-1, 2),
    )


class _Texts:
    """Numbers for texts and for the forms in them."""

    def __init__(self, split: Split) -> None:
        self._split = split
        self._numbers: dict[tuple[str, str], int] = {}
        # Two forms come first: padding and the null position. Neither string can be a word.
        self._forms: dict[Form, int] = {(ANY, ""): PADDING_FORM, (ANY, " "): NULL_FORM}
        self.languages: list[str] = []
        self.forms: list[list[int]] = []
        self.spans: list[Spans] = []
        self.starts: list[int] = []  # index of each text's first word among all words
        self._words = 0

    def number(self, text_in_language: tuple[str, str]) -> int:
        number = self._numbers.setdefault(text_in_language, len(self.forms))
        if number == len(self.forms):
            text, language = text_in_language
            (spans,), forms = self._split([text]), self._forms
            self.languages.append(language)
            self.spans.append(spans)
            self.forms.append(
                [forms.setdefault((language, text[s:e]), len(forms)) for s, e in spans]
            )
            self.starts.append(self._words)
            self._words += len(spans)
        return number

    def form_tables(self, vocabulary: Vocabulary) -> dict[str, Any]:
        listed = list(self._forms)[2:]
        keys: dict[str, int] = {}
        nothing = [PADDING] * vocabulary.max_characters
        words = [vocabulary.word_number(word, language) for language, word in listed]
        characters = [vocabulary.character_numbers(word) for _, word in listed]
        languages = [vocabulary.language_number(language) for language, _ in listed]
        # 0 and 1 match nothing: keys of real forms begin at 2.
        matched = [0, 1, *(keys.setdefault(plain(word), len(keys) + 2) for _, word in listed)]
        return {
            "form_words": ints([PADDING, NULL, *words]),
            "form_characters": ints([nothing, nothing, *characters]),
            "form_languages": ints([UNKNOWN_LANGUAGE, UNKNOWN_LANGUAGE, *languages]),
            "form_keys": ints(matched),
        }


@dataclass(frozen=True)
class WordEncoder:
    vocabulary: Vocabulary
    vectors: Matrix  # (rows, width) frozen vectors, zeros for words with trainable ones
    windows: Windows
    split: SizedCache[Spans] = field(
        default_factory=lambda: SizedCache(split_words), compare=False, repr=False
    )

    def encode(self, examples: Sequence[Example]) -> Features:
        return encode(examples, self.vocabulary, self.windows, self.split)

    def stored(self) -> Stored:
        return {"vectors": self.vectors}, self.vocabulary.to_json()

    def cut(self) -> dict[str, Any]:
        return asdict(self.windows)

    @classmethod
    def from_stored(cls, stored: Stored, windows: Windows) -> "WordEncoder":
        arrays, listed = stored
        return cls(Vocabulary.from_json(listed), np.asarray(arrays["vectors"]), windows)
