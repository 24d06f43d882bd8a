"""Labels of texts: classes or numbers, and their distribution."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from readlet.errors import bad_input
from readlet.text.rows import NO_LABEL, ints
from readlet.types import Sentence

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_SHOWN = 8  # classes in an error


def class_names(sentences: Iterable[Sentence]) -> tuple[str, ...]:
    """The different labels in order: numbers by size, before words by alphabet."""
    return in_class_order({s.label for s in sentences if s.label is not None})


def in_class_order(labels: Iterable[str]) -> tuple[str, ...]:
    def rank(label: str) -> tuple[float, str]:
        number = number_in(label)
        return (math.inf if number is None else number, label)

    return tuple(sorted(labels, key=rank))


def class_numbers(
    source: str | Path, sentences: Iterable[Sentence], classes: Sequence[str]
) -> list[int]:
    """The number of each label among the classes of a classifier, (rows,)."""
    numbers = {name: number for number, name in enumerate(classes)}
    found = []
    for sentence in sentences:
        label = _label(source, sentence)
        if label not in numbers:
            known = ", ".join(f"{name!r:.30}" for name in classes[:_SHOWN])
            more = f" and {len(classes) - _SHOWN} more" if len(classes) > _SHOWN else ""
            fault = f"label {label!r:.40} is not among the classes ({known}{more})"
            remedy = "correct it, or train with such rows"
            raise bad_input(source, place_of(sentence), fault, remedy)
        found.append(numbers[label])
    return found


def label_values(source: str | Path, sentences: Iterable[Sentence]) -> list[float]:
    """The labels of a regression task as numbers, (rows,)."""
    found = []
    for sentence in sentences:
        label = _label(source, sentence)
        if (value := number_in(label)) is None:
            fault = f"label {label!r:.40} is not a number"
            remedy = "write a number, with a point for decimals, or train classes instead"
            raise bad_input(source, place_of(sentence), fault, remedy)
        found.append(value)
    return found


def _label(source: str | Path, sentence: Sentence) -> str:
    if sentence.label is None:
        remedy = "add its label, or remove the row"
        raise bad_input(source, place_of(sentence), "has no label", remedy)
    return sentence.label


def number_in(label: str) -> float | None:
    """The finite number that a label is, or None. `1_000` and `nan` are words."""
    if not _NUMBER.fullmatch(label) or not math.isfinite(value := float(label)):
        return None
    return value


def place_of(sentence: Sentence) -> str:
    """Rows without an id have their number as id."""
    return f"row {sentence.id!r}"


_LISTED = 10  # classes in a line
_IMBALANCED = 10  # the largest class has this many times the rows of the smallest


@dataclass(frozen=True)
class ClassBalance:
    """The rows of each class, in the order of classes."""

    counts: Mapping[str, int]

    @property
    def total(self) -> int:
        """The number of labelled rows."""
        return sum(self.counts.values())

    @property
    def shares(self) -> dict[str, float]:
        return {name: count / self.total for name, count in self.counts.items()}

    @property
    def largest(self) -> str:
        """The class with the most rows; of equal ones, the first."""
        return max(self.counts, key=lambda name: self.counts[name])

    @property
    def single(self) -> list[str]:
        """The classes with one row: it is trained or tested, never both."""
        return [name for name, count in self.counts.items() if count == 1]

    @property
    def is_scale(self) -> bool:
        """Whether the labels are mostly numbers, and some have decimals: values to regress on."""
        values = {name: number_in(name) for name in self.counts}
        numeric = sum(self.counts[name] for name, value in values.items() if value is not None)
        has_decimals = any(value is not None and value % 1 for value in values.values())
        return has_decimals and 2 * numeric > self.total

    def summary(self) -> str:
        """One line: `2 classes in 8,551 rows: 0 2,528 (29.6%), 1 6,023 (70.4%)`."""
        if self.is_scale:
            pairs = [(number_in(name), count) for name, count in self.counts.items()]
            values = [(value, count) for value, count in pairs if value is not None]
            rows = sum(count for _, count in values)
            mean = sum(value * count for value, count in values) / rows
            low, high = values[0][0], max(value for value, _ in values)
            return f"numbers from {low:g} to {high:g} in {rows:,} rows, mean {mean:.3g}"
        names = list(self.counts)
        if len(names) > _LISTED:
            names = sorted(names, key=lambda name: -self.counts[name])[:_LISTED]
        shown = ", ".join(
            f"{name:.40} {self.counts[name]:,} ({self.shares[name]:.1%})" for name in names
        )
        more = f" and {len(self.counts) - _LISTED} more" if len(self.counts) > _LISTED else ""
        noun = "class" if len(self.counts) == 1 else "classes"
        return f"{len(self.counts)} {noun} in {self.total:,} rows: {shown}{more}"

    def warnings(self) -> list[str]:
        """Warnings before training on these rows, a line each; `data check` finds more."""
        if self.is_scale or len(self.counts) < 2:
            return []
        lines = []
        if self.counts[self.largest] >= _IMBALANCED * min(self.counts.values()):
            share = f"{self.shares[self.largest]:.1%}"
            lines.append(
                f"imbalanced classes: always predicting {self.largest!r:.40} is {share} accurate"
            )
        if self.single:
            shown = ", ".join(f"{name!r:.40}" for name in self.single[:_LISTED])
            lines.append(f"{len(self.single):,} × class with one row: {shown}; add rows of it")
        return lines


def class_balance(sentences: Iterable[Sentence]) -> ClassBalance:
    return balance_of(Counter(sentence.label for sentence in sentences))


def balance_of(labels: Mapping[str | None, int]) -> ClassBalance:
    """The balance of counted labels; None is the label of unlabelled rows."""
    names = in_class_order(label for label in labels if label is not None)
    return ClassBalance({name: labels[name] for name in names})


def require_classes(source: str | Path, balance: ClassBalance) -> None:
    """An error unless there are two classes: with one, there is nothing to learn."""
    if not balance.counts:
        raise bad_input(source, "", "no row has a label", "give texts with labels")
    if len(balance.counts) == 1:
        fault = f"only one class: all labels are {balance.largest!r:.40}"
        remedy = "add rows of another class, or name another column with --column label=NAME"
        raise bad_input(source, "", fault, remedy)


def require_one_kind(source: str | Path, sentences: Iterable[Sentence], *, pairs: bool) -> None:
    """Reject pairs of texts where single texts are read, and the reverse."""
    for sentence in sentences:
        if (sentence.second is not None) != pairs:
            kinds = ("single texts", "pairs of texts")
            fault = f"has {kinds[not pairs]}, where {kinds[pairs]} are read"
            raise bad_input(source, place_of(sentence), fault, "give files of one kind")


def same_but_spelling(labels: Iterable[str]) -> list[list[str]]:
    """Labels that are the same except for case and spaces."""
    groups: dict[str, list[str]] = {}
    for label in labels:
        groups.setdefault(" ".join(label.casefold().split()), []).append(label)
    return [names for names in groups.values() if len(names) > 1]


@dataclass(frozen=True)
class Labels:
    """What a classifier predicts: one of its classes, or a value (regression)."""

    kind: Literal["classes", "numbers"]
    classes: tuple[str, ...] = ()
    # Of the training labels: values are learned with mean 0 and deviation 1.
    mean: float = 0.0
    deviation: float = 1.0

    @classmethod
    def learned(
        cls, kind: Literal["classes", "numbers"], sentences: Sequence[Sentence]
    ) -> "Labels":
        """The classes, or the scale, of labelled texts."""
        if kind == "classes":
            return cls(kind, class_names(sentences))
        values = [number_in(sentence.label or "") for sentence in sentences]
        known = np.array([value for value in values if value is not None])  # (texts,)
        if not len(known):
            return cls(kind)
        return cls(kind, (), float(known.mean()), float(known.std()) or 1.0)

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Labels":
        """As `asdict` gave them; ValueError if they are damaged."""
        made = cls(**stored | {"classes": tuple(stored["classes"])})
        is_sound = made.kind in ("classes", "numbers") and all(
            isinstance(name, str) for name in made.classes
        )
        is_known = len({*made.classes}) == len(made.classes) >= 2 or made.kind == "numbers"
        if not is_sound or not is_known or not np.isfinite([made.mean, made.deviation]).all():
            raise ValueError(f"labels: {stored!r:.60}")
        return made

    @property
    def outputs(self) -> int:
        """The number of scores for each text."""
        return len(self.classes) if self.kind == "classes" else 1

    def numbers(self, sentences: Sequence[Sentence]) -> NDArray[Any]:
        """Class numbers or standardised values, (texts,); NO_LABEL without a known label."""
        if self.kind == "classes":
            known = {name: number for number, name in enumerate(self.classes)}
            return ints([known.get(s.label or "", NO_LABEL) for s in sentences])
        values = [number_in(sentence.label or "") for sentence in sentences]
        return np.array(
            [NO_LABEL if v is None else (v - self.mean) / self.deviation for v in values],
            np.float32,
        )
