"""JSON objects in files: atomic writes, and damage reported with the file's name."""

import json
from pathlib import Path
from typing import Any

from readlet.errors import ReadletError, bad_input
from readlet.storage.damage import AGAIN, stored_text
from readlet.storage.files import atomic_text


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
