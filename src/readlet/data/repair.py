"""Repair what can be repaired safely; drop the rest; count both by reason (law 7).

Repair a file where it is, in its own format; the file as it was is kept as a backup.
"""

import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from readlet.data import content_of, write_examples
from readlet.data.answer_offsets import Placement, differs_in_case, placement
from readlet.data.check import ReadableItems
from readlet.data.columns import PLAIN, DataFormat
from readlet.data.faults import CONTROL
from readlet.data.sources import is_file_name
from readlet.data.writing import lost_by_writing, own_suffix
from readlet.errors import InputError, bad_input
from readlet.storage.overwrite import check_file
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

    Malformed rows are dropped; their places are recorded, as they have no id.
    """
    changes = Changes()
    items = ReadableItems(source, data_format)

    def questions() -> Iterator[Example]:
        for item in items:
            if not isinstance(item, Example):
                raise _not_repairable(source)
            yield item

    write_examples(out, repair(questions(), changes))
    for error in items.malformed:
        changes.dropped["malformed row"].append(error.place)
    if items.end is not None:
        reason = f"rest of the file ({items.end.fault})"
        changes.dropped[reason].append(items.end.place or "end")
    return changes


def check_repairable(source: str, data_format: DataFormat = PLAIN) -> None:
    """Check that a source has questions; call it before long work."""
    if content_of(source, data_format) == "texts":
        raise _not_repairable(source)


def _not_repairable(source: str) -> InputError:
    remedy = "correct the rows that `readlet data check` lists; only questions can be repaired"
    return bad_input(source, "", "contains texts with labels", remedy)


def repair(examples: Iterable[Example], changes: Changes) -> Iterator[Example]:
    """Yield examples in which `check` finds no problem, and record the `changes`."""
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
        yield example


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
    if differs_in_case(place.text, span.text):
        yield "answer written in the case of the context"
    elif place.text != span.text:
        yield "answer spelled as in the context"
    if span.start == NO_OFFSET:
        which = "the first occurrence" if found.occurring > 1 else "its only occurrence"
        yield f"answer without offset placed at {which}"
    elif place.start != span.start:
        yield "answer moved to the nearest place"


_TO_ANOTHER = "write a repaired copy with --fix OUT"


@dataclass(frozen=True)
class Repaired:
    """What was changed in a file; without changes there is no backup."""

    source: str
    changes: Changes
    backup: Path | None

    def as_json(self) -> dict[str, Any]:
        backup = None if self.backup is None else str(self.backup)
        return {"source": self.source, "backup": backup, **self.changes.as_json()}


def has_own_format(source: str, data_format: DataFormat = PLAIN) -> bool:
    """Whether a source is a file in a format that can be repaired in place."""
    return is_file_name(source) and own_suffix(Path(source), data_format) is not None


def check_in_place(source: str, data_format: DataFormat = PLAIN) -> None:
    """Check that a file can be repaired where it is; call it before long work."""
    if not is_file_name(source):
        raise bad_input(source, "", "is not a file of yours", _TO_ANOTHER)
    path = Path(source)
    if not has_own_format(source, data_format):
        fault = "only SQuAD JSON and JSONL, in UTF-8, can be repaired in place"
        raise bad_input(source, "", fault, _TO_ANOTHER)
    check_repairable(source, data_format)
    if data_format.columns:
        fault = "its columns would be renamed to Readlet's names"
        raise bad_input(source, "", fault, _TO_ANOTHER)
    if lost := lost_by_writing(path):
        raise bad_input(source, "", f"has {lost}, which would not be kept", _TO_ANOTHER)
    check_file(path)
    check_file(_free_backup(path.resolve()))


def repair_in_place(sources: Sequence[str]) -> list[Repaired]:
    """Replace each file by its repaired questions, unless there is nothing to repair.

    All of them or none: the first file is replaced when the last one is repaired and backed up.
    Format, compression and permissions stay; a link is followed.
    """
    with ExitStack() as stack:
        drafts = {}
        for source in sources:
            path = Path(source).resolve()
            if path in drafts:
                raise bad_input(source, "", "is given twice", "name each file once")
            folder = tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name[:100]}.")
            drafts[path] = _repair(source, path, Path(stack.enter_context(folder)))
        backups = _back_up_all(path for path, draft in drafts.items() if draft.is_changed)
        for path in backups:
            os.replace(drafts[path].path, path)
    return [Repaired(draft.source, draft.changes, backups.get(p)) for p, draft in drafts.items()]


@dataclass(frozen=True)
class _Draft:
    source: str
    path: Path
    changes: Changes

    @property
    def is_changed(self) -> bool:
        return bool(self.changes.changed or self.changes.dropped)


def _repair(source: str, path: Path, folder: Path) -> _Draft:
    draft = folder / f"repaired{own_suffix(path)}"
    changes = repair_file(source, draft)
    if changes.dropped and not changes.written:
        fault = "no question could be kept, so nothing was changed"
        raise bad_input(source, "", fault, "check how the file was created")
    shutil.copymode(path, draft)
    return _Draft(source, draft, changes)


def _back_up_all(paths: Iterable[Path]) -> dict[Path, Path]:
    """The backup of each file; if one fails, there is none."""
    backups: dict[Path, Path] = {}
    try:
        for path in paths:
            backups[path] = _back_up(path)
    except BaseException:
        for backup in backups.values():
            backup.unlink()
        raise
    return backups


def _back_up(path: Path) -> Path:
    """Keep the file under the first free name: an earlier backup is never replaced."""
    while True:
        place = _free_backup(path)
        try:
            _copy(path, place)
        except FileExistsError:  # made in the meantime
            continue
        return place


def _free_backup(path: Path) -> Path:
    number, place = 1, path.with_name(f"{path.name}.bak")
    while os.path.lexists(place):
        number += 1
        place = path.with_name(f"{path.name}.bak{number}")
    return place


def _copy(path: Path, place: Path) -> None:
    try:
        os.link(path, place)  # at once, and it takes no space
    except FileExistsError:
        raise
    except OSError:  # not all file systems have hard links
        with path.open("rb") as old, place.open("xb") as new:
            shutil.copyfileobj(old, new)
        shutil.copystat(path, place)
