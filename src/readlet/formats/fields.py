"""Convert the values of a file to typed ones, or report exactly which value is invalid."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from readlet.errors import bad_input
from readlet.formats.places import only_place
from readlet.types import NO_OFFSET, Example, Span


def text_field(source: str | Path, place: str, record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    if not isinstance(value, str):
        fault = (
            f"{name!r} is missing" if is_missing(value) else f"{name!r} is {value!r:.40}, not text"
        )
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


def is_missing(value: Any) -> bool:
    """None, or NaN: missing values in tables of pandas."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def offset(source: str | Path, place: str, value: Any) -> int:
    """A character offset. Not a bool and not 3.5: those would shift answers silently."""
    if type(value) is int:
        return value
    if is_missing(value):
        return NO_OFFSET
    if isinstance(value, float) and value.is_integer():  # missing values turn 3 into 3.0
        return int(value)
    fault = f"'answer_start' is {value!r:.40}, not a whole number"
    raise bad_input(source, place, fault, "give the answer's character offset in the context")


def spans(source: str | Path, place: str, values: Any, context: str) -> tuple[Span, ...]:
    """Answers as SQuAD lists them, in columns as Hugging Face datasets store them, or as texts."""
    if not values and isinstance(values, list):
        return ()
    if isinstance(values, Mapping):
        texts = list_field(source, place, values, "text")
        given = not is_missing(values.get("answer_start"))
        starts = list_field(source, place, values, "answer_start") if given else [None] * len(texts)
        if len(texts) != len(starts):
            fault = f"{len(texts)} answer texts but {len(starts)} starts"
            raise bad_input(source, place, fault, "give one start for every text")
        values = [{"text": t, "answer_start": s} for t, s in zip(texts, starts, strict=True)]
    if not isinstance(values, list):
        remedy = "give a list (it may be empty), or name the field of a single text 'answer'"
        raise bad_input(source, place, "'answers' is not a list", remedy)
    return tuple(
        [_span(source, place, number, value, context) for number, value in enumerate(values, 1)]
    )


def _span(source: str | Path, place: str, number: int, value: Any, context: str) -> Span:
    if isinstance(value, str):
        value = {"text": value}
    if not isinstance(value, Mapping):
        fault = f"answer {number} is {value!r:.40}"
        raise bad_input(source, place, fault, 'write {"text": ..., "answer_start": ...}')
    text, start = value.get("text"), value.get("answer_start")
    if type(text) is not str or type(start) is not int:  # rare
        where = f"{place}, answer {number}"
        text = text_field(source, where, value, "text")
        start = offset(source, where, start)
    return located(start, text, context)


def located(start: int, text: str, context: str) -> Span:
    """The answer; one without an offset is placed if it occurs exactly once."""
    return Span(only_place(context, text) if start == NO_OFFSET else start, text)


def question_record(example: Example) -> dict[str, Any]:
    """An example without its context, and the title and language of that."""
    qa: dict[str, Any] = {"id": example.id, "question": example.question}
    if example.is_labelled:
        qa["answers"] = span_records(example.answers)
        qa["is_impossible"] = example.is_impossible
    if example.plausible_answers:
        qa["plausible_answers"] = span_records(example.plausible_answers)
    if example.question_language:
        qa["question_language"] = example.question_language
    return qa


def span_records(answers: Iterable[Span]) -> list[dict[str, Any]]:
    return [{"text": answer.text, "answer_start": answer.start} for answer in answers]
