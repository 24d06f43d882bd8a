"""Repair what can be repaired safely; drop the rest; count both by reason."""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from readlet.data import content_of
from readlet.data.answer_offsets import Placement, placement
from readlet.data.check import ReadableItems
from readlet.data.columns import PLAIN, DataFormat
from readlet.data.faults import CONTROL
from readlet.data.rows import Origin
from readlet.data.writing import own_row, write_own_rows
from readlet.errors import bad_input
from readlet.text.words import word_spans
from readlet.types import NO_OFFSET, Example, Span


@dataclass
class Changes:
    """The ids of changed and dropped examples, by reason."""

    changed: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    dropped: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    written: int = 0

    def as_json(self) -> dict[str, Any]:
        return {
            "written": self.written,
            "changed": dict(self.changed),
            "dropped": dict(self.dropped),
        }


def repair_file(source: str, out: Path, data_format: DataFormat = PLAIN) -> Changes:
    """Write the repaired questions of a file to another file and return the changes.

    A table, JSONL or a list of records that is written in the same format keeps its columns, its
    separator and its other fields; its rows are in memory then. Malformed rows are dropped; their
    places are recorded, as they have no id.
    """
    check_repairable(source, data_format)
    changes, origin = Changes(), Origin()
    items = ReadableItems(source, data_format, origin)
    questions = (item for item in items if isinstance(item, Example))
    # Repair works one by one: the origin is still that of the question's row.
    pairs = repair(questions, changes)
    write_own_rows(out, origin, ((new, own_row(origin, old, new)) for old, new in pairs))
    for error in items.malformed:
        changes.dropped["malformed row"].append(error.place)
    if items.end is not None:
        reason = f"rest of the file ({items.end.fault})"
        changes.dropped[reason].append(items.end.place or "end")
    return changes


def check_repairable(source: str, data_format: DataFormat = PLAIN) -> None:
    """Check that a source has questions; call it before long work."""
    if content_of(source, data_format) == "texts":
        remedy = "correct the rows that `readlet data check` lists; only questions can be repaired"
        raise bad_input(source, "", "contains texts with labels", remedy)


def repair(examples: Iterable[Example], changes: Changes) -> Iterator[tuple[Example, Example]]:
    """Yield examples as they were, and without what `check` finds; and record the `changes`."""
    by_id: dict[str, Example] = {}
    numbers: dict[str, int] = {}
    for original in examples:
        reason = _unrepairable(original)
        if reason:
            changes.dropped[reason].append(original.id)
            continue
        example = _clean(original, changes)
        example = _place_answers(example, changes)
        if example.is_labelled and not example.is_impossible and not example.answers:
            changes.dropped["none of its answers is in the context"].append(original.id)
            continue
        earlier = by_id.setdefault(example.id, example)
        if earlier is not example:
            if earlier == example:
                changes.dropped["exact copy of an earlier example"].append(original.id)
                continue
            changes.changed["duplicate id renamed"].append(original.id)
            example = replace(example, id=_free_id(example.id, by_id, numbers))
            by_id[example.id] = example
        changes.written += 1
        yield original, example


def _free_id(identity: str, taken: Container[str], numbers: dict[str, int]) -> str:
    """The id with a number; `numbers` are the next to try, as all ids of a file may be the same."""
    number = numbers.get(identity, 2)
    while (free := f"{identity}-{number}") in taken:
        number += 1
    numbers[identity] = number + 1
    return free


def _unrepairable(example: Example) -> str:
    if not _without_control(example.question).strip():
        return "empty question"
    if not _without_control(example.context).strip():
        return "empty context"
    if example.is_labelled and not example.answers and not example.is_impossible:
        return "no answer and not marked impossible"
    return ""


def _clean(example: Example, changes: Changes) -> Example:
    """Remove control characters, and shift the answers accordingly."""
    found = CONTROL.finditer(example.context)
    places = [match.start() for match in found if not _without_control(match[0])]

    def moved(span: Span) -> Span:
        before = sum(place < span.start for place in places)
        return Span(span.start - before, _without_control(span.text))

    cleaned = replace(
        example,
        question=_without_control(example.question),
        context=_without_control(example.context),
        answers=tuple(map(moved, example.answers)),
        plausible_answers=tuple(map(moved, example.plausible_answers)),
    )
    if cleaned != example:
        changes.changed["control characters removed"].append(example.id)
    return cleaned


def _without_control(text: str) -> str:
    # For example, a form feed may be the only separator of two words in text from a PDF.
    return CONTROL.sub(lambda match: " " if match[0].isspace() else "", text)


def _place_answers(example: Example, changes: Changes) -> Example:
    answers, plausible = example.answers, example.plausible_answers
    if example.is_impossible and answers:
        # The flag was set on purpose; SQuAD 2.0 lists such answers separately.
        changes.changed["answers of an impossible question now plausible answers"].append(
            example.id
        )
        answers, plausible = (), plausible + answers
    return replace(
        example,
        answers=tuple(_placed(example, answers, changes)),
        plausible_answers=tuple(_placed(example, plausible, changes)),
    )


def _placed(example: Example, spans: Iterable[Span], changes: Changes) -> Iterator[Span]:
    for span in spans:
        text = span.text.strip()
        lead = len(span.text) - len(span.text.lstrip())
        has_offset = span.start != NO_OFFSET
        trimmed = Span(span.start + lead if has_offset else NO_OFFSET, text)
        if not text:
            changes.changed["empty answer removed"].append(example.id)
        elif trimmed.is_in(example.context):
            if trimmed != span:
                changes.changed["space around answer removed"].append(example.id)
            yield trimmed
        elif not (found := placement(example.context, trimmed, word_spans(example.context))):
            changes.changed["answer not in context removed"].append(example.id)
        else:
            for reason in _reasons(trimmed, found):
                changes.changed[reason].append(example.id)
            yield found.place


def _reasons(span: Span, found: Placement) -> Iterator[str]:
    place = found.place
    if place.text != span.text:
        yield "answer spelled as in the context"
    if span.start == NO_OFFSET:
        which = "the first occurrence" if found.occurring > 1 else "its only occurrence"
        yield f"answer without offset placed at {which}"
    elif place.start != span.start:
        yield "answer moved to the nearest place"
