"""Convert the values of a file to typed ones, or report exactly which value is invalid."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from readlet.errors import bad_input
from readlet.types import Span


def text_field(source: str | Path, place: str, record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    if not isinstance(value, str):
        fault = f"{name!r} is missing" if value is None else f"{name!r} is {value!r:.40}, not text"
        raise bad_input(source, place, fault, f"give every record a text {name!r}")
    return value


def flag_field(source: str | Path, place: str, value: Any, name: str) -> bool:
    if value in (0, 1):  # spreadsheets also write 0 and 1
        return bool(value)
    raise bad_input(source, place, f"{name!r} is {value!r:.40}", "write true or false")


def list_field(source: str | Path, place: str, record: Mapping[str, Any], name: str) -> list[Any]:
    value = record.get(name)
    if not isinstance(value, list):
        fault = f"{name!r} is missing" if value is None else f"{name!r} is not a list"
        raise bad_input(source, place, fault, f"add a list {name!r} (it may be empty)")
    return value


def offset(source: str | Path, place: str, value: Any) -> int:
    """A character offset. Not a bool, not 3.5, not NaN: those would shift answers silently."""
    if type(value) is int:
        return value
    if isinstance(value, float) and value.is_integer():  # missing values turn 3 into 3.0
        return int(value)
    fault = f"'answer_start' is {value!r:.40}, not a whole number"
    raise bad_input(source, place, fault, "give the answer's character offset in the context")


def spans(source: str | Path, place: str, values: Any) -> tuple[Span, ...]:
    """Answers as SQuAD lists them, or in columns as Hugging Face datasets store them."""
    if isinstance(values, Mapping):
        texts = list_field(source, place, values, "text")
        starts = list_field(source, place, values, "answer_start")
        if len(texts) != len(starts):
            fault = f"{len(texts)} answer texts but {len(starts)} starts"
            raise bad_input(source, place, fault, "give one start for every text")
        values = [{"text": t, "answer_start": s} for t, s in zip(texts, starts, strict=True)]
    if not isinstance(values, list):
        raise bad_input(source, place, "'answers' is not a list", "give a list (it may be empty)")
    found = []
    for number, value in enumerate(values, 1):
        if not isinstance(value, Mapping):
            fault = f"answer {number} is {value!r:.40}"
            raise bad_input(source, place, fault, 'write {"text": ..., "answer_start": ...}')
        text = text_field(source, f"{place}, answer {number}", value, "text")
        start = offset(source, f"{place}, answer {number}", value.get("answer_start"))
        found.append(Span(start, text))
    return tuple(found)
