"""Which of the languages that a reader knows its texts are in: given by the data, or guessed.

Examples to word ids. Each distinct text and form is encoded once, however often it occurs.

A *form* is a word as written, in a language if the vocabulary knows languages. Texts are runs of
form numbers in one long array. Tables map each form to its word number, its characters, its
language and its key (forms that match each other share a key, in whatever language).

The encoder of word models: a vocabulary with its vectors, and the windows of long texts.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from readlet.text.cache import Remembered, Stored
from readlet.text.languages import guess_language, language_code
from readlet.text.rows import LONG_QUESTION, Ints, RowBuilder, Rows, ints
from readlet.text.vectors import ANY, Matrix
from readlet.text.vocabulary import NULL, PADDING, UNKNOWN_LANGUAGE, Form, Vocabulary, plain
from readlet.text.words import Windows, word_spans
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


PADDING_FORM, NULL_FORM = 0, 1
Spans = list[tuple[int, int]]
Split = Callable[[list[tuple[str, str]]], list[Spans]]
"""Finds the words of texts, each with its language."""


@dataclass(kw_only=True)
class Features(Rows):
    """Rows of words. A place is a word; `forms` and `offsets` run in parallel over all texts."""

    form_words: Ints  # (forms,) word number
    form_characters: Ints  # (forms, max_characters)
    form_languages: Ints  # (forms,) language number
    form_keys: Ints  # (forms,) equal for forms that match
    forms: Ints  # (words of all texts,)
    row_question: Ints  # (rows, 2) first word of the question in `forms`, and number of words read


def count_words(examples: Iterable[Example], languages: Sequence[str] = ()) -> Counter[Form]:
    """Every word of every distinct text, as written, after its language."""
    counts: Counter[Form] = Counter()
    known = TextLanguages(languages)
    for text, language in dict.fromkeys(pair for e in examples for pair in known.texts(e)):
        spans = word_spans(text, language)
        counts.update([(language, text[start:end]) for start, end in spans])
    return counts


def split_words(texts: list[tuple[str, str]]) -> list[Spans]:
    """The words of each text, which comes with its language."""
    return [word_spans(text, language) for text, language in texts]


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
        # Two forms come first: padding and the null place. Neither string can be a word.
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
            (spans,), forms = self._split([text_in_language]), self._forms
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
    split: Remembered[tuple[str, str], Spans] = field(
        default_factory=lambda: Remembered(split_words, lambda text: len(text[0])),
        compare=False,
        repr=False,
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
