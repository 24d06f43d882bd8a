"""The folder of a reader: which files belong to the reader, and how they are replaced.

A reader is written whole to a folder inside, `.unfinished`, and its files are then moved up:
`config.json` is removed first and moved last. So a full disk leaves the earlier reader in place,
and the remains of an interrupted save can be distinguished from files of the user.

How readers are named: a folder, `user/name` of the hub, `bundled`, or `baseline`.
"""

import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from readlet.bundled import bundled_reader
from readlet.console import say
from readlet.errors import bad_input
from readlet.storage.files import locked_folder
from readlet.storage.overwrite import make_folder, others
from readlet.storage.stored_files import own_json, read_json, stored_file, write_json

CONFIG = "config.json"
OTHER_FILES = ("calibration.json", "metrics.json", "NOTICE.md", "README.md")
# The files of readers whose config.json does not list them.
DEFAULT_FILES = ("model.safetensors", "vocabulary.json")
_DRAFT = ".unfinished"
_EARLIER = "earlier.json"  # in the draft: the names of the files that it replaces


def foreign_to_reader(folder: Path) -> Iterator[Path]:
    """Entries of the folder that are not part of a reader, complete or not."""
    return others(folder, own_files(folder))


def own_files(folder: Path) -> set[str]:
    """The names that belong to the reader in this folder; names alone are not enough."""
    own = _named_by(folder / CONFIG)
    draft = folder / _DRAFT
    if draft.is_dir() and not draft.is_symlink():
        earlier = _names((own_json(draft / _EARLIER) or {}).get("files"))
        if earlier is not None or not any(others(draft, (), {_EARLIER})):
            own |= {_DRAFT, *(earlier or ()), *_named_by(draft / CONFIG)}
    return own


@contextmanager
def reserved(folder: Path, remedy: str) -> Iterator[None]:
    """While a new model is made, no other process writes to its folder; none may be there yet."""
    is_new = not folder.exists()
    make_folder(folder, remedy=remedy)
    with locked_folder(folder) as is_ours:
        if not is_ours:
            raise bad_input(
                folder, "", "another process is writing it", f"wait for it, or {remedy}"
            )
        if (folder / CONFIG).exists():
            raise bad_input(folder, "", "already contains a reader", remedy)
        try:
            yield
        except BaseException:
            if is_new:
                with suppress(OSError):  # not empty
                    folder.rmdir()
            raise


def replace_reader(folder: Path, write: Callable[[Path], None]) -> None:
    """Let `write` write a reader, and put its files in place of those of an earlier reader.

    A file of the same name that is not a reader's is renamed: it came after the check, and what
    took hours to train must not be lost because of it.
    """
    make_folder(folder)
    own, draft = own_files(folder), folder / _DRAFT
    try:
        knows_more = bool(own) and not _named_by(folder / CONFIG)
        _write(draft, own, write, knows_more=knows_more)
        names = [path.name for path in draft.iterdir() if path.name != _EARLIER]
        for name in sorted(own - {_DRAFT, *names} | own & {CONFIG}, key=_config_last, reverse=True):
            (folder / name).unlink(missing_ok=True)
        for name in sorted(names, key=_config_last):
            if name not in own and os.path.lexists(folder / name):
                _set_aside(folder / name)
            os.replace(draft / name, folder / name)
        _end(draft)
    except OSError as error:
        fault = f"not written ({error.strerror or error})"
        raise bad_input(folder, "", fault, "check its permissions and the disk") from None


def _write(draft: Path, own: set[str], write: Callable[[Path], None], *, knows_more: bool) -> None:
    """Write the draft, which records first what it replaces; remove it if that fails.

    It is kept if it `knows_more` than the folder: the names left by an interrupted save.
    """
    draft.mkdir(exist_ok=True)
    try:
        write_json(draft / _EARLIER, {"files": sorted(own - {_DRAFT})})
        _clear(draft)  # of an interrupted save
        write(draft)
    except BaseException:
        _clear(draft)
        if not knows_more:
            _end(draft)
        raise


def _clear(draft: Path) -> None:
    for path in draft.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != _EARLIER:
            path.unlink()


def _end(draft: Path) -> None:
    (draft / _EARLIER).unlink(missing_ok=True)
    draft.rmdir()


def _config_last(name: str) -> bool:
    return name == CONFIG


def _set_aside(path: Path) -> None:
    number = 1
    while os.path.lexists(place := path.with_name(f"{path.name}.{number}")):
        number += 1
    path.rename(place)
    warnings.warn(f"{path}: not a part of the reader; it is now {place.name}", stacklevel=4)


def _named_by(config: Path) -> set[str]:
    """The files of a reader with this configuration; none if it is not that of a reader."""
    values = own_json(config) or {}
    files = _names(values.get("files", list(DEFAULT_FILES)))
    kinds = {"format": int, "architecture": str, "recipe": dict}
    is_ours = all(isinstance(values.get(name), kind) for name, kind in kinds.items())
    return {CONFIG, *OTHER_FILES, *files} if is_ours and files is not None else set()


def _names(files: Any) -> list[str] | None:
    """A list of names in the same folder: only such files may be replaced or removed."""
    if not isinstance(files, list):
        return None
    is_valid = all(
        isinstance(file, str) and file not in ("", "..") and Path(file).name == file
        for file in files
    )
    return files if is_valid else None


BUNDLED, BASELINE = "bundled", "baseline"


def reader_folder(name: str | Path) -> Path:
    """The folder of a reader, of the `bundled` one, or of one of the hub, downloaded once."""
    if isinstance(name, Path):
        return name
    if name != BUNDLED:
        from readlet.inference.hub import downloaded, is_hub_name

        return downloaded(name) if is_hub_name(name) else Path(name)
    folder = bundled_reader()
    if folder is None:
        fault = "this copy of Readlet has no bundled reader"
        remedy = f"name a reader's folder (./{BUNDLED} for one of this name), or `{BASELINE}`"
        raise bad_input(BUNDLED, "", fault, remedy)
    return folder


def reader_files(name: str | Path) -> list[Path]:
    """The files that define a reader: recipe, calibration, weights, vocabulary or tokenizer."""
    folder = reader_folder(name)
    config = read_json(folder / "config.json")
    files = config.get("files", DEFAULT_FILES)
    if not isinstance(files, (list, tuple)) or not all(map(_is_file_name, files)):
        fault = "is damaged (files: not a list of names)"
        raise bad_input(folder / "config.json", "", fault, "copy the folder again")
    return [stored_file(folder / name) for name in ("config.json", "calibration.json", *files)]


def _is_file_name(name: Any) -> bool:
    return isinstance(name, str) and "\0" not in name and Path(name).name == name


def warn_of_same_named_folder(name: str) -> None:
    """A folder in the current directory that has this name too is not used."""
    if (Path(name) / "config.json").is_file():
        what = f"`{name}` is the reader that comes with Readlet"
        say(f"readlet: {what}; for the folder here write ./{name}")
