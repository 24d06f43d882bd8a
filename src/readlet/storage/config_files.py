"""JSON objects in files: atomic writes, and damage reported with the file's name.

TOML files of the package or the user: recipes and tables.
"""

import json
import tomllib
from collections.abc import Iterable
from difflib import get_close_matches
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from readlet.errors import ReadletError, bad_input
from readlet.storage.corruption import AGAIN, stored_text
from readlet.storage.files import atomic_text, text_chunks


def write_json(path: Path, values: Any) -> None:
    with atomic_text(path) as stream:
        json.dump(values, stream, ensure_ascii=False, indent=1)


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object from a model's folder."""
    try:
        values = json.loads(stored_text(path))
    except ReadletError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise bad_input(path, "", f"is damaged ({error})", AGAIN) from None
    if not isinstance(values, dict):
        raise bad_input(path, "", "is not an object", AGAIN)
    return values


def own_json(path: Path) -> dict[str, Any] | None:
    """The object in a file by which the program recognises its own folders; None if it has none.

    The program makes no links, so a link to such a file is not its own.
    """
    try:
        return None if path.is_symlink() else read_json(path)
    except (ReadletError, RecursionError):
        return None


def shipped_files(*folder: str) -> dict[str, Traversable]:
    """The TOML files of a folder of the package, by name without suffix."""
    found = {entry.name: entry for entry in files("readlet").joinpath(*folder).iterdir()}
    return {n.removesuffix(".toml"): found[n] for n in sorted(found) if n.endswith(".toml")}


def read_toml(source: str, shipped: dict[str, Traversable], what: str) -> dict[str, Any]:
    """Read a shipped file by its name, or a file of the user by its path."""
    if source in shipped:
        text = shipped[source].read_text("utf-8")
    elif Path(source).is_file():
        text = "".join(text_chunks(Path(source)))
    else:
        remedy = nearest(source, shipped, "give a TOML file or one of")
        raise bad_input(source, "", f"no such {what}", remedy)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise bad_input(source, "", f"not valid TOML ({error})", "fix that line") from None
    except (ValueError, RecursionError):  # a number of too many digits, or nested too deeply
        fault = "not valid TOML (a value is too long or too deep)"
        raise bad_input(source, "", fault, "shorten it") from None


def nearest(wrong: str, known: Iterable[str], which: str) -> str:
    """A remedy for a wrong name: the closest match, or a list of all names."""
    listed = list(known)
    near = get_close_matches(wrong, listed, n=1)
    return f"did you mean {near[0]!r}?" if near else f"{which}: {', '.join(listed)}"
