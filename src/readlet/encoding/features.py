"""Examples to word ids. Each distinct text and form is encoded once, however often it occurs.

A *form* is a word as written. Texts are runs of form numbers in one long array. Tables map each
form to its word number, its characters and its key (forms that match each other share a key).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from readlet.encoding.rows import LONG_QUESTION, Ints, RowBuilder, Rows, ints
from readlet.encoding.vocabulary import NULL, PADDING, Vocabulary, plain
from readlet.encoding.windows import Windows
from readlet.encoding.words import word_spans
from readlet.types import Example

PADDING_FORM, NULL_FORM = 0, 1
Spans = list[tuple[int, int]]


@dataclass(kw_only=True)
class Features(Rows):
    """Rows of words. A place is a word; `forms` and `offsets` run in parallel over all texts."""

    form_words: Ints  # (forms,) word number
    form_characters: Ints  # (forms, max_characters)
    form_keys: Ints  # (forms,) equal for forms that match
    forms: Ints  # (words of all texts,)
    row_question: Ints  # (rows, 2) first word of the question in `forms`, and number of words read


def count_words(examples: Iterable[Example]) -> Counter[str]:
    """Every word of every distinct text, as written."""
    counts: Counter[str] = Counter()
    for text in dict.fromkeys(text for e in examples for text in (e.context, e.question)):
        counts.update([text[start:end] for start, end in word_spans(text)])
    return counts


def split_words(texts: list[str]) -> list[Spans]:
    """The words of each text."""
    return [word_spans(text) for text in texts]


def encode(
    examples: Sequence[Example],
    vocabulary: Vocabulary,
    windows: Windows,
    split: Callable[[list[str]], list[Spans]] = split_words,
) -> Features:
    """Number all texts and cut them into rows. `split` finds their words, or remembers them."""
    texts, rows = _Texts(split), RowBuilder(windows)
    questions: list[tuple[int, int]] = []
    for number, example in enumerate(examples):
        context, question = texts.number(example.context), texts.number(example.question)
        asked = len(texts.spans[question])
        if asked > windows.max_question:
            rows.note(LONG_QUESTION, example)
            asked = windows.max_question
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

    def __init__(self, split: Callable[[list[str]], list[Spans]]) -> None:
        self._split = split
        self._numbers: dict[str, int] = {}
        # Two forms come first: padding and the null place. Neither string can be a word.
        self._forms: dict[str, int] = {"": PADDING_FORM, " ": NULL_FORM}
        self.forms: list[list[int]] = []
        self.spans: list[Spans] = []
        self.starts: list[int] = []  # index of each text's first word among all words
        self._words = 0

    def number(self, text: str) -> int:
        number = self._numbers.setdefault(text, len(self.forms))
        if number == len(self.forms):
            (spans,), forms = self._split([text]), self._forms
            self.spans.append(spans)
            self.forms.append([forms.setdefault(text[s:e], len(forms)) for s, e in spans])
            self.starts.append(self._words)
            self._words += len(spans)
        return number

    def form_tables(self, vocabulary: Vocabulary) -> dict[str, Any]:
        listed = list(self._forms)[2:]
        keys: dict[str, int] = {}
        nothing = [PADDING] * vocabulary.max_characters
        words = [PADDING, NULL, *map(vocabulary.word_number, listed)]
        characters = [nothing, nothing, *map(vocabulary.character_numbers, listed)]
        # 0 and 1 match nothing: keys of real forms begin at 2.
        matched = [0, 1, *(keys.setdefault(plain(form), len(keys) + 2) for form in listed)]
        return {
            "form_words": ints(words),
            "form_characters": ints(characters),
            "form_keys": ints(matched),
        }
