"""Which files and folders may be written: the one decision for all commands and functions.

Call `check_file` or `check_folder` before the first long step. Nothing is changed by a check.
"""

import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

from readlet.errors import ReadletError, bad_input

Foreign = Callable[[Path], Iterator[Path]]
"""Finds the entries of an existing folder that the program did not make."""

ANOTHER_FILE, ANOTHER_FOLDER = "give another file to write", "give another folder"
# Made by file managers and version control. Nothing here has such a name, so they are safe.
_HARMLESS = frozenset({".DS_Store", "Thumbs.db", "desktop.ini", ".gitignore", ".gitkeep"})
# Temporary files of `atomic_text` and `save_tensors`, left behind by a killed process.
_TEMPORARY = re.compile(r"\.(?P<name>.+?)(\.[a-z0-9_]{8}\.readlet)?")
# What safetensors leaves behind if its process is killed while it writes a file.
_OF_SAFETENSORS = re.compile(r"\.tmp[A-Za-z0-9]{6}")
# The longest path inside an output folder: it must not be too long for the file system either.
_LONGEST = Path("0123456789abcdef", "work", "checkpoint-00000000", "state.safetensors")
_SIGN_SOUGHT_IN = 64 << 20  # bytes; a report is far smaller


def check_file(
    path: Path,
    inputs: Iterable[Path] = (),
    *,
    overwrite: bool = True,
    sign: str = "",
    remedy: str = ANOTHER_FILE,
) -> None:
    """Check that a file may be written: it can be created, and replaces no input.

    `inputs` are the files and folders that the command reads; all files of a folder count. Without
    `overwrite`, no existing file is replaced; with a `sign`, only one that contains this text: the
    program made it.
    """
    target, status = _found(path, ANOTHER_FILE)
    if status is not None:
        if stat.S_ISDIR(status.st_mode):
            raise bad_input(path, "", "is a directory", "name a file to write")
        if not stat.S_ISREG(status.st_mode):
            raise bad_input(path, "", "is not a regular file", "name a file to write")
        if any(_is_read(target, source) for source in inputs):
            raise bad_input(path, "", "is also an input", remedy)
        if not overwrite:
            raise bad_input(path, "", "exists", "add --overwrite to replace it, or give another")
        if sign and not has_sign(target, sign):
            raise bad_input(path, "", "was not made by this command", _away(ANOTHER_FOLDER))
    if not target.parent.is_dir():
        raise bad_input(path, "", "its folder does not exist", f"create {target.parent} first")
    _check_writable(path, target.parent, "its folder is read-only", ANOTHER_FILE)
    if status is not None and not os.access(target, os.W_OK):
        raise bad_input(path, "", "is read-only", ANOTHER_FILE)


def check_folder(
    folder: Path,
    foreign: Foreign | None,
    inputs: Iterable[Path] = (),
    *,
    remedy: str = ANOTHER_FOLDER,
) -> None:
    """Check that a folder may be written: it is new, empty, or holds only what the program made.

    It is no input, and no input lies directly in it. `foreign` finds what is not the program's own;
    None: other files may lie there.
    """
    target, status = _found(folder, remedy)
    if status is not None and not stat.S_ISDIR(status.st_mode):
        raise bad_input(folder, "", "is a file", remedy)
    _found(target / _LONGEST, remedy)
    existing = target
    while not existing.exists():
        existing = existing.parent
    _check_writable(folder, existing, "cannot be written (Permission denied)", remedy)
    if status is None:
        return
    for source in inputs:
        if _is_same(target, source):
            raise bad_input(folder, "", "is also an input", remedy)
        if source.exists() and _is_same(target, source.resolve().parent):
            raise bad_input(folder, "", f"holds an input, {source.name}", remedy)
    for entry in foreign(target) if foreign else ():
        fault = f"holds {entry.relative_to(target)}, which Readlet did not make"
        raise bad_input(folder, "", fault, _away(remedy))


def others(folder: Path, own: Collection[str], begun: Collection[str] = ()) -> Iterator[Path]:
    """The entries of a folder whose names are not the program's `own`, in order.

    Temporary files of its own files count as own, and those of files that were only `begun`. Links
    do not: the program makes none.
    """
    for entry in sorted(folder.iterdir()):
        temporary = _TEMPORARY.fullmatch(entry.name)
        written = temporary["name"] if temporary else ""
        is_own = entry.name in own or written in own or written in begun or is_leftover(entry)
        if entry.name not in _HARMLESS and (entry.is_symlink() or not is_own):
            yield entry


def is_leftover(path: Path) -> bool:
    """Whether it is half a file of tensors, left by a killed process."""
    return _OF_SAFETENSORS.fullmatch(path.name) is not None and path.is_file()


def make_folder(folder: Path, *, remedy: str = ANOTHER_FOLDER) -> None:
    """Make a folder and its parents; a link is followed, also to a folder that does not exist."""
    try:
        folder.resolve().mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError) as error:
        raise bad_input(folder, "", f"cannot be created ({_reason(error)})", remedy) from None


def has_sign(path: Path, sign: str) -> bool:
    """Whether a file contains the text by which the program recognises its own files."""
    try:
        with path.open("rb") as stream:
            return sign.encode() in stream.read(_SIGN_SOUGHT_IN)
    except OSError:
        return False


def _found(path: Path, remedy: str) -> tuple[Path, os.stat_result | None]:
    """The file or folder that links lead to, and its status; None if it does not exist."""
    try:
        # The path itself has no status if a folder in it is missing: missing/../data.json
        target = path.resolve()
        return target, target.stat()
    except FileNotFoundError:
        return path.resolve(), None
    except (OSError, RuntimeError, ValueError) as error:  # a long name, a file as a folder, NUL
        raise _unwritable(path, error, remedy) from None


def _unwritable(path: Path, error: Exception, remedy: str) -> ReadletError:
    name = str(path).replace("\0", "\\0")
    return bad_input(f"{name:.300}", "", f"cannot be written ({_reason(error)})", remedy)


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


def _check_writable(path: Path, folder: Path, fault: str, remedy: str) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise bad_input(path, "", fault, remedy)


def _is_read(target: Path, source: Path) -> bool:
    if not source.is_dir():
        return _is_same(target, source)
    # A hard link to a file further down is not found: the folder may be large.
    is_inside = target.is_relative_to(source.resolve())
    return is_inside or any(_is_same(target, entry) for entry in source.iterdir())


def _is_same(target: Path, source: Path) -> bool:
    try:
        return target.samefile(source)
    except (OSError, ValueError):  # there is no such input: its own error is clearer
        return False


def _away(remedy: str) -> str:
    return f"{remedy}, or move it away"
