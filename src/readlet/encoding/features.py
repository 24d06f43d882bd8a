"""Examples to word ids. Each distinct text and form is encoded once, however often it occurs.

A *form* is a word as written, in a language if the vocabulary knows languages. Texts are runs of
form numbers in one long array. Tables map each form to its word number, its characters, its
language and its key (forms that match each other share a key, in whatever language).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from readlet.encoding.multilingual_vectors import ANY
from readlet.encoding.rows import LONG_QUESTION, Ints, RowBuilder, Rows, ints
from readlet.encoding.text_languages import TextLanguages
from readlet.encoding.vocabulary import (
    NULL,
    PADDING,
    UNKNOWN_LANGUAGE,
    Form,
    Vocabulary,
    plain,
)
from readlet.encoding.windows import Windows
from readlet.encoding.words import word_spans
from readlet.types import Example

PADDING_FORM, NULL_FORM = 0, 1


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


def encode(examples: Sequence[Example], vocabulary: Vocabulary, windows: Windows) -> Features:
    """Number all texts and cut them into rows."""
    texts, rows, known = _Texts(), RowBuilder(windows), TextLanguages(vocabulary.languages)
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

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str], int] = {}
        # Two forms come first: padding and the null place. Neither string can be a word.
        self._forms: dict[Form, int] = {(ANY, ""): PADDING_FORM, (ANY, " "): NULL_FORM}
        self.languages: list[str] = []
        self.forms: list[list[int]] = []
        self.spans: list[list[tuple[int, int]]] = []
        self.starts: list[int] = []  # index of each text's first word among all words
        self._words = 0

    def number(self, text_in_language: tuple[str, str]) -> int:
        number = self._numbers.setdefault(text_in_language, len(self.forms))
        if number == len(self.forms):
            text, language = text_in_language
            spans, forms = word_spans(text, language), self._forms
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
