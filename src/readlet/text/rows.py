"""Rows: the inputs of a model, in any tokenisation; for a span model a question and a window.

A *place* is a token of the context that the model scores: a word or a subword. Every place has
character offsets in the original text, so answers can be converted between tokenisations.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from readlet.text.cache import Stored
from readlet.text.words import Windows, snap
from readlet.types import Example

Ints = NDArray[np.int32]
NO_LABEL = -1
LONG_QUESTION = "long question: only its beginning is read"


@dataclass(kw_only=True)
class AnyRows(ABC):
    """The rows of a data set, whatever their task is."""

    row_label: NDArray[Any]  # (rows, ...) what is learned
    notes: dict[str, list[str]] = field(default_factory=dict)  # ids of changed examples by reason

    def __len__(self) -> int:
        return len(self.row_label)

    @property
    @abstractmethod
    def longest(self) -> int:
        """The number of places, or tokens, of the longest row."""

    def stored(self) -> Stored:
        """The arrays and notes, for the cache."""
        arrays = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "notes"}
        return arrays, self.notes

    @classmethod
    def from_stored(cls, stored: Stored) -> Self:
        arrays, notes = stored
        return cls(**arrays, notes=notes)


@dataclass(kw_only=True)
class Rows(AnyRows):
    """Rows of a span model. An encoder adds the arrays that its model reads."""

    offsets: Ints  # (places of all texts, 2) characters of each place in its text
    row_example: Ints  # (rows,) which example a row belongs to
    row_window: Ints  # (rows, 2) first place in `offsets`, and number of places
    row_label: Ints  # (rows, 2) first and last place of the answer in the window, or NO_LABEL
    row_impossible: NDArray[np.bool_]  # (rows,) the window contains no answer

    @property
    def longest(self) -> int:
        return int(self.row_window[:, 1].max(initial=0))

    def places(self, row: int) -> Ints:
        """The character offsets of each place of a row: (places, 2), half-open."""
        first, count = self.row_window[row]
        return self.offsets[first : first + count]

    def trainable(self, *, can_abstain: bool) -> Ints:
        """Rows to train on: those with an answer, and those without if the model can abstain."""
        labelled = self.row_label[:, 0] != NO_LABEL  # (rows,)
        return np.flatnonzero(labelled | (self.row_impossible & can_abstain)).astype(np.int32)


class RowBuilder:
    """Cuts examples into rows, labelled with the first gold answer. Notes every change."""

    def __init__(self, windows: Windows) -> None:
        self.windows = windows
        self.notes: dict[str, list[str]] = {}
        self._example: list[int] = []
        self._window: list[tuple[int, int]] = []
        self._label: list[tuple[int, int]] = []
        self._impossible: list[bool] = []

    def add(
        self, number: int, example: Example, places: Sequence[tuple[int, int]], first_place: int
    ) -> int:
        """Add the rows of one example and return their number.

        `first_place` is the index of its first place among the places of all texts.
        """
        first, last = self._label_of(example, places)
        starts = self.windows.starts(len(places))
        if len(starts) > 1:
            self.note("long context: read in windows", example)
        longest = self.windows.max_context
        if first != NO_LABEL and not any(s <= first and last < s + longest for s in starts):
            self.note("answer fits into no window: not trained on", example)
            first = last = NO_LABEL
        for start in starts:
            count = min(longest, len(places) - start)
            inside = first != NO_LABEL and first >= start and last < start + count
            self._example.append(number)
            self._window.append((first_place + start, count))
            self._label.append((first - start, last - start) if inside else (NO_LABEL, NO_LABEL))
            self._impossible.append(not inside and (not example.answers or first != NO_LABEL))
        return len(starts)

    def note(self, what: str, example: Example) -> None:
        self.notes.setdefault(what, []).append(example.id)

    def arrays(self) -> dict[str, Any]:
        """The fields of `Rows` except `offsets`."""
        return {
            "row_example": ints(self._example),
            "row_window": ints(self._window).reshape(-1, 2),
            "row_label": ints(self._label).reshape(-1, 2),
            "row_impossible": np.array(self._impossible, np.bool_),
            "notes": self.notes,
        }

    def _label_of(self, example: Example, places: Sequence[tuple[int, int]]) -> tuple[int, int]:
        if not example.answers:
            return NO_LABEL, NO_LABEL
        gold = example.answers[0]
        whole = snap(places, gold.start, gold.end)
        if whole is None:
            self.note("answer without a word: not trained on", example)
            return NO_LABEL, NO_LABEL
        if whole.moved:
            self.note("answer cuts a word: taken with the whole word", example)
        return whole.first, whole.last


def ints(values: Sequence[Any]) -> Ints:
    return np.array(values, np.int32)
