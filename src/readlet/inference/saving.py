"""How a model's folder is written: whole, and only over an earlier model.

A model is written to a folder inside, `.unfinished`. Then the earlier model is removed, its
`config.json` first, and the new files are moved up, `config.json` last. So a full disk leaves the
earlier model in place, and the remains of an interrupted save can be told from files of the user.
"""

import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from readlet.errors import bad_input
from readlet.storage.files import locked_folder
from readlet.storage.overwrite import make_folder, others
from readlet.storage.stored_files import own_json

CONFIG = "config.json"
OTHER_FILES = ("calibration.json", "metrics.json", "NOTICE.md", "README.md")
_DRAFT = ".unfinished"
_EARLIER = "earlier.json"  # in the draft: the config.json of the model that is being replaced


def own_files(folder: Path) -> set[str]:
    """The names that belong to the model in this folder, saved whole or not."""
    draft = folder / _DRAFT
    if not draft.is_dir() or draft.is_symlink():
        return _named_by(folder / CONFIG)
    configs = (folder / CONFIG, draft / _EARLIER, draft / CONFIG)
    return {_DRAFT}.union(*map(_named_by, configs))


def foreign_to_reader(folder: Path) -> Iterator[Path]:
    """Entries of the folder that are not part of a reader, complete or not."""
    return others(folder, own_files(folder))


def _named_by(config: Path) -> set[str]:
    """The files of a reader with this configuration; none if it is not that of a reader."""
    values = own_json(config) or {}
    files = _file_names(values.get("files"))
    kinds = {"format": int, "architecture": str, "recipe": dict}
    is_ours = all(isinstance(values.get(name), kind) for name, kind in kinds.items())
    return {CONFIG, *OTHER_FILES, *files} if is_ours and files is not None else set()


def _file_names(files: Any) -> list[str] | None:
    """A list of names in the same folder: only such files may be replaced or removed."""
    if not isinstance(files, list):
        return None
    is_valid = all(
        isinstance(file, str) and file not in ("", "..") and Path(file).name == file
        for file in files
    )
    return files if is_valid else None


@contextmanager
def reserved(folder: Path, remedy: str) -> Iterator[None]:
    """While a new model is made, no other process writes to its folder; none may be there yet."""
    is_new = not folder.exists()
    make_folder(folder, remedy=remedy)
    with locked_folder(folder) as is_ours:
        if not is_ours:
            fault = "another process is writing it"
            raise bad_input(folder, "", fault, f"wait for it, or {remedy}")
        if (folder / CONFIG).exists():
            raise bad_input(folder, "", "already contains a reader", remedy)
        try:
            yield
        except BaseException:
            if is_new:
                with suppress(OSError):  # not empty
                    folder.rmdir()
            raise


def replace_model(folder: Path, write: Callable[[Path], None]) -> None:
    """Let `write` write a model, and put its files in place of those of an earlier one."""
    make_folder(folder)
    draft = folder / _DRAFT
    try:
        if not (folder / CONFIG).exists():  # what an interrupted save has left
            _remove(folder, own_files(folder) - {_DRAFT})
        _clear(draft)
        try:
            draft.mkdir()
            write(draft)
        except BaseException:
            _clear(draft)
            raise
        names = sorted((path.name for path in draft.iterdir()), key=CONFIG.__eq__)
        earlier = _named_by(folder / CONFIG)
        if earlier:
            os.replace(folder / CONFIG, draft / _EARLIER)
            _remove(folder, earlier)
        for name in names:
            if os.path.lexists(folder / name):
                _set_aside(folder / name)
            os.replace(draft / name, folder / name)
        _clear(draft)
    except OSError as error:
        fault = f"not written ({error.strerror or error})"
        raise bad_input(folder, "", fault, "check its permissions and the disk") from None


def _remove(folder: Path, names: set[str]) -> None:
    for name in sorted(names):
        (folder / name).unlink(missing_ok=True)


def _clear(draft: Path) -> None:
    if draft.exists():
        shutil.rmtree(draft)


def _set_aside(path: Path) -> None:
    """Rename a file of the user: it came after the check, and training took hours."""
    number = 1
    while os.path.lexists(place := path.with_name(f"{path.name}.{number}")):
        number += 1
    path.rename(place)
    warnings.warn(f"{path}: not a part of the reader; it is now {place.name}", stacklevel=4)
