"""Checks which files and folders may be written, for all commands and functions.

Call `check_file` or `check_folder` before the first long step. Nothing is changed by a check.
"""

import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

from readlet.errors import bad_input

Foreign = Callable[[Path], Iterator[Path]]
"""Finds the entries of an existing folder that the program did not create."""

_ANOTHER_FILE, _ANOTHER_FOLDER = "give another file to write", "give another folder"
# Temporary files of `atomic_text` and `save_tensors`, left behind by a killed process.
_TEMPORARY = re.compile(r"\.(?P<name>.+?)(\.[a-z0-9_]{8}\.readlet)?")
# What safetensors leaves behind if its process is killed while it writes a file.
_OF_SAFETENSORS = re.compile(r"\.tmp[A-Za-z0-9]{6}")


def check_file(path: Path, inputs: Iterable[Path] = (), *, overwrite: bool = True) -> None:
    """Check that a file may be written: it can be created, and replaces no input.

    `inputs` are the files and folders that the command reads; all files of a folder count. Without
    `overwrite`, no existing file is replaced.
    """
    target, status = _found(path, _ANOTHER_FILE)
    if status is not None:
        if not stat.S_ISREG(status.st_mode):
            kind = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise bad_input(path, "", f"is {kind}", "name a file to write")
        if any(_is_same(target, source) or source.resolve() in target.parents for source in inputs):
            raise bad_input(path, "", "is also an input", _ANOTHER_FILE)
        if not overwrite:
            raise bad_input(path, "", "exists", "add --overwrite to replace it, or give another")
    if not target.parent.is_dir():
        raise bad_input(path, "", "its folder does not exist", f"create {target.parent} first")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise bad_input(path, "", "its folder is read-only", _ANOTHER_FILE)


def check_folder(
    folder: Path,
    foreign: Foreign | None,
    inputs: Iterable[Path] = (),
    *,
    remedy: str = _ANOTHER_FOLDER,
) -> None:
    """Check that a folder may be written: it is new, empty, or holds only what the program made.

    It is not an input, and contains none directly. `foreign` finds entries of others;
    None: other files are allowed.
    """
    target, status = _found(folder, remedy)
    if status is not None and not stat.S_ISDIR(status.st_mode):
        raise bad_input(folder, "", "is a file", remedy)
    existing = next(place for place in (target, *target.parents) if place.exists())
    if not os.access(existing, os.W_OK | os.X_OK):
        raise bad_input(folder, "", "cannot be written (Permission denied)", remedy)
    if status is None:
        return
    for source in inputs:
        if _is_same(target, source):
            raise bad_input(folder, "", "is also an input", remedy)
        if source.exists() and _is_same(target, source.resolve().parent):
            raise bad_input(folder, "", f"holds an input, {source.name}", remedy)
    for entry in foreign(target) if foreign else ():
        fault = f"holds {entry.relative_to(target)}, which Readlet did not make"
        raise bad_input(folder, "", fault, f"{remedy}, or move it away")


def others(folder: Path, own: Collection[str], begun: Collection[str] = ()) -> Iterator[Path]:
    """The entries of a folder whose names are not the program's `own`, in order.

    Temporary files of these count as own, also those of files that were only `begun`. Links
    do not: the program creates none.
    """
    for entry in sorted(folder.iterdir()):
        temporary = _TEMPORARY.fullmatch(entry.name)
        written = temporary["name"] if temporary else ""
        is_own = entry.name in own or written in own or written in begun
        is_leftover = _OF_SAFETENSORS.fullmatch(entry.name) is not None
        if entry.is_symlink() or not (is_own or is_leftover):
            yield entry


def make_folder(folder: Path, *, remedy: str = _ANOTHER_FOLDER) -> None:
    """Make a folder and its parents; a link is followed, also to a folder that does not exist."""
    try:
        folder.resolve().mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError) as error:
        raise bad_input(folder, "", f"cannot be created ({_reason(error)})", remedy) from None


def _found(path: Path, remedy: str) -> tuple[Path, os.stat_result | None]:
    """The file or folder that links lead to, and its status; None if it does not exist."""
    try:
        # The path itself has no status if a folder in it is missing: missing/../data.json
        target = path.resolve()
        return target, target.stat()
    except FileNotFoundError:
        return path.resolve(), None
    except (OSError, RuntimeError, ValueError) as error:  # a long name, a file as a folder, NUL
        name = str(path).replace("\0", "\\0")
        raise bad_input(name, "", f"cannot be written ({_reason(error)})", remedy) from None


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


def _is_same(target: Path, source: Path) -> bool:
    try:
        return target.samefile(source)
    except (OSError, ValueError):  # there is no such input: its own error is clearer
        return False
