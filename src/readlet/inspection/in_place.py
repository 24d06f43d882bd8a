"""Repair a file where it is, in its own format; the file as it was is kept as a backup."""

import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from readlet.errors import bad_input
from readlet.formats.columns import PLAIN, DataFormat
from readlet.formats.sources import is_file_name
from readlet.formats.writing import lost_by_writing, own_suffix
from readlet.inspection.repair import Changes, check_repairable, repair_file
from readlet.storage.outputs import check_file

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
