"""From the labels of texts to numbers: of classes, or of a scale."""

import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from readlet.errors import bad_input
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
    source: str | Path, sentences: Sequence[Sentence], classes: Sequence[str]
) -> list[int]:
    """The number of each label among the classes of a classifier, (rows,)."""
    numbers = {name: number for number, name in enumerate(classes)}
    return [_class_number(source, sentence, numbers) for sentence in sentences]


def _class_number(source: str | Path, sentence: Sentence, numbers: dict[str, int]) -> int:
    label = require_label(source, sentence)
    if label in numbers:
        return numbers[label]
    known = ", ".join(f"{name!r:.30}" for name in list(numbers)[:_SHOWN])
    more = f" and {len(numbers) - _SHOWN} more" if len(numbers) > _SHOWN else ""
    fault = f"label {label!r:.40} is none of the classes ({known}{more})"
    raise bad_input(source, place_of(sentence), fault, "correct it, or train with such rows")


def label_values(source: str | Path, sentences: Sequence[Sentence]) -> list[float]:
    """The labels of a regression task as numbers, (rows,)."""
    return [_label_value(source, sentence) for sentence in sentences]


def _label_value(source: str | Path, sentence: Sentence) -> float:
    label = require_label(source, sentence)
    value = number_in(label)
    if value is None:
        remedy = "write a number, with a point for decimals, or train classes instead"
        raise bad_input(source, place_of(sentence), f"label {label!r:.40} is no number", remedy)
    return value


def require_label(source: str | Path, sentence: Sentence) -> str:
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
