"""Repair what can be repaired safely; drop the rest; count both by reason (law 7)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from readlet.errors import bad_input
from readlet.formats import nearest_place, read, write_examples
from readlet.formats.rows import Columns
from readlet.inspection.faults import CONTROL
from readlet.types import Example, Span, free_id


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


def repair_file(source: str, out: Path, columns: Columns) -> Changes:
    """Write the repaired questions of a file to another file and return the changes."""
    changes = Changes()

    def questions() -> Iterator[Example]:
        for item in read(source, columns):
            if not isinstance(item, Example):
                raise bad_input(
                    source, "", "contains sentences", "only question data can be repaired"
                )
            yield item

    write_examples(out, repair(questions(), changes))
    return changes


def repair(examples: Iterable[Example], changes: Changes) -> Iterator[Example]:
    """Yield examples in which `check` finds no problem, and record the `changes`."""
    by_id: dict[str, Example] = {}
    for original in examples:
        reason = _unrepairable(original)
        if reason:
            changes.dropped[reason].append(original.id)
            continue
        example = _clean(original, changes)
        example = _place_answers(example, changes)
        if not example.is_impossible and not example.answers:
            changes.dropped["none of its answers is in the context"].append(original.id)
            continue
        earlier = by_id.setdefault(example.id, example)
        if earlier is not example:
            if earlier == example:
                changes.dropped["exact copy of an earlier example"].append(original.id)
                continue
            changes.changed["duplicate id renamed"].append(original.id)
            example = replace(example, id=free_id(example.id, by_id.keys()))
            by_id[example.id] = example
        changes.written += 1
        yield example


def _unrepairable(example: Example) -> str:
    if not _without_control(example.question).strip():
        return "empty question"
    if not _without_control(example.context).strip():
        return "empty context"
    if not example.answers and not example.is_impossible:
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
        changes.changed["answers of an impossible question made plausible ones"].append(example.id)
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
        trimmed = Span(span.start + lead, text)
        if not text:
            changes.changed["empty answer removed"].append(example.id)
        elif trimmed.is_in(example.context):
            if trimmed != span:
                changes.changed["space around answer removed"].append(example.id)
            yield trimmed
        else:
            near = nearest_place(example.context, trimmed)
            if near is None:
                changes.changed["answer not in context removed"].append(example.id)
                continue
            if near.text != text:
                changes.changed["answer spelled as in the context"].append(example.id)
            if near.start != trimmed.start:
                changes.changed["answer moved to the nearest place"].append(example.id)
            yield near
