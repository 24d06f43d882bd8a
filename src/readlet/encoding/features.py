"""Examples to integers. Texts and forms are numbered once, however often they occur.

A *form* is a word as written. Texts are runs of form numbers in one long array; the tables say for
each form its word number, its characters and its key (forms that match each other share it). A
*row* is what the model reads at once: a question and one window of its context.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from readlet.encoding.vocabulary import NULL, PADDING, Vocabulary, plain
from readlet.encoding.windows import Windows
from readlet.encoding.words import snap, word_spans
from readlet.types import Example

Ints = NDArray[np.int32]
PADDING_FORM, NULL_FORM = 0, 1
NO_LABEL = -1
LONG_QUESTION = "long question: only its first words are read"


@dataclass
class Features:
    """All arrays of a data set. Texts: `forms[text_starts[t]:text_starts[t + 1]]`."""

    form_words: Ints  # (forms,) word number
    form_characters: Ints  # (forms, max_characters)
    form_keys: Ints  # (forms,) equal for forms that match
    forms: Ints  # (words of all texts,)
    offsets: Ints  # (words of all texts, 2) place of each word in its text
    text_starts: Ints  # (texts + 1,)
    row_example: Ints  # (rows,) which example a row belongs to
    row_question: Ints  # (rows,) text number of the question
    row_asked: Ints  # (rows,) how many words of the question are read
    row_context: Ints  # (rows,) text number of the context
    row_window: Ints  # (rows, 2) first word and number of words of the window
    row_label: Ints  # (rows, 2) first and last word of the answer in the window, or NO_LABEL
    row_impossible: NDArray[np.bool_]  # (rows,) the window holds no answer
    notes: dict[str, list[str]] = field(default_factory=dict)  # ids by what was done to them

    def __len__(self) -> int:
        return len(self.row_example)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {name: value for name, value in vars(self).items() if name != "notes"}

    def text(self, number: int) -> slice:
        return slice(int(self.text_starts[number]), int(self.text_starts[number + 1]))


def count_words(examples: Iterable[Example]) -> Counter[str]:
    """Every word of every distinct text, as written."""
    counts: Counter[str] = Counter()
    for text in dict.fromkeys(text for e in examples for text in (e.context, e.question)):
        counts.update([text[start:end] for start, end in word_spans(text)])
    return counts


def encode(examples: Sequence[Example], vocabulary: Vocabulary, windows: Windows) -> Features:
    """Number all texts and cut them into rows. Answers are labelled by the first gold one."""
    texts = _Texts()
    rows = _Rows(windows)
    for number, example in enumerate(examples):
        context, question = texts.number(example.context), texts.number(example.question)
        rows.add(number, example, context, question, texts)
    starts = np.cumsum([0, *map(len, texts.forms)]).astype(np.int32)
    return Features(
        **texts.form_tables(vocabulary),
        forms=np.concatenate([np.array(f, np.int32) for f in texts.forms] or [_ints([])]),
        offsets=np.concatenate(
            [np.array(spans, np.int32).reshape(-1, 2) for spans in texts.spans]
            or [_ints([]).reshape(-1, 2)]
        ),
        text_starts=starts,
        row_example=_ints(rows.example),
        row_question=_ints(rows.question),
        row_asked=_ints(rows.asked),
        row_context=_ints(rows.context),
        row_window=_ints(rows.window).reshape(-1, 2),
        row_label=_ints(rows.label).reshape(-1, 2),
        row_impossible=np.array(rows.impossible, np.bool_),
        notes=rows.notes,
    )


class _Texts:
    """Numbers for texts and for the forms in them."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        # Two forms come first: padding, and the null place. Neither text can be a word.
        self._forms: dict[str, int] = {"": PADDING_FORM, " ": NULL_FORM}
        self.forms: list[list[int]] = []
        self.spans: list[list[tuple[int, int]]] = []

    def number(self, text: str) -> int:
        number = self._numbers.setdefault(text, len(self.forms))
        if number == len(self.forms):
            spans, forms = word_spans(text), self._forms
            self.spans.append(spans)
            self.forms.append([forms.setdefault(text[s:e], len(forms)) for s, e in spans])
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
            "form_words": _ints(words),
            "form_characters": _ints(characters),
            "form_keys": _ints(matched),
        }


class _Rows:
    """The rows of all examples, and notes on those that could not be taken as they are."""

    def __init__(self, windows: Windows) -> None:
        self.windows = windows
        self.example: list[int] = []
        self.question: list[int] = []
        self.asked: list[int] = []
        self.context: list[int] = []
        self.window: list[tuple[int, int]] = []
        self.label: list[tuple[int, int]] = []
        self.impossible: list[bool] = []
        self.notes: dict[str, list[str]] = {}

    def add(self, number: int, example: Example, context: int, question: int, t: _Texts) -> None:
        spans = t.spans[context]
        first = last = NO_LABEL
        if example.answers:
            gold = example.answers[0]
            whole = snap(spans, gold.start, gold.end)
            if whole is None:
                self._note("answer without a word: not trained on", example)
            else:
                first, last = whole.first, whole.last
                if whole.moved:
                    self._note("answer cuts a word: taken with the whole word", example)
        asked = min(len(t.spans[question]), self.windows.max_question)
        if asked < len(t.spans[question]):
            self._note(LONG_QUESTION, example)
        starts = self.windows.starts(len(spans))
        if len(starts) > 1:
            self._note("long context: read in windows", example)
        longest = self.windows.max_context
        if first != NO_LABEL and not any(s <= first and last < s + longest for s in starts):
            self._note("answer fits into no window: not trained on", example)
            first = last = NO_LABEL
        for start in starts:
            length = min(self.windows.max_context, len(spans) - start)
            inside = first >= start and last < start + length and first != NO_LABEL
            self.example.append(number)
            self.question.append(question)
            self.asked.append(asked)
            self.context.append(context)
            self.window.append((start, length))
            self.label.append((first - start, last - start) if inside else (NO_LABEL, NO_LABEL))
            self.impossible.append(not inside and (not example.answers or first != NO_LABEL))

    def _note(self, what: str, example: Example) -> None:
        self.notes.setdefault(what, []).append(example.id)


def _ints(values: Sequence[Any]) -> Ints:
    return np.array(values, np.int32)
