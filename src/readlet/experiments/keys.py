"""What a run is known by: a hash of all that determines it.

The recipe, its seed, and the content of the files that it names, wherever they lie. Not the
program: a run made by another version counts, and the report tells.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from readlet.errors import bad_input
from readlet.formats import training_file
from readlet.reading.reader import reader_files
from readlet.recipe.recipe import LATER_FIELDS, Recipe
from readlet.storage.files import open_bytes

Digests = Mapping[str, str]
"""What files are known by: name, digest of the content."""
_SOURCES = (
    *(("data", field) for field in ("train", "dev", "calibration")),
    *(("words", "vectors"), ("training", "start"), ("training", "teacher")),
)
_READERS = ("start", "teacher")


def run_key(recipe: Recipe, known: Digests | None = None) -> str:
    """Digest of everything that determines a run; where its files lie does not matter."""
    values = json.loads(recipe.model_dump_json())
    del values["name"]
    digests = {name: _digest(name, known or {}) for name in source_names(recipe)}
    for section, field in _SOURCES:
        named = values[section][field]
        if field in _READERS:
            values[section][field] = [digests[path] for path in _reader_files(named)]
        elif isinstance(named, list):
            values[section][field] = [digests[name] for name in named]
        else:
            values[section][field] = digests[named] if named else ""
    for (section, field), usual in LATER_FIELDS.items():
        if values[section][field] == usual:
            del values[section][field]
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


def source_names(recipe: Recipe) -> list[str]:
    """Every file that a recipe names, those of readers included."""
    names: list[str] = []
    for section, field in _SOURCES:
        named = getattr(getattr(recipe, section), field)
        if field in _READERS:
            names += _reader_files(named)
        else:
            names += [named] if isinstance(named, str) else named
    return [name for name in names if name]


def source_digests(recipe: Recipe) -> Digests:
    """The files of a recipe as it names them, to be known by on other machines."""
    return {Path(name).as_posix(): _digest(name, {}) for name in source_names(recipe)}


def _reader_files(reader: str) -> list[str]:
    return list(map(str, reader_files(reader))) if reader else []


def _digest(source: str, known: Digests) -> str:
    path = training_file(source)
    if path.is_file():
        stat = path.stat()
        return _content(path, stat.st_size, stat.st_mtime_ns)
    alike = _alike(path, known)
    if len(alike) == 1:
        return alike.pop()
    raise bad_input(source, "", "no such file", "name its folder with --data")


def _alike(path: Path, known: Digests) -> set[str]:
    """Digests of the files that are called so: their folders count as far as both are told.

    Elsewhere they lay in other folders, and older runs tell only the last part of a name.
    """
    found: dict[int, set[str]] = {}
    for name, digest in known.items():
        other = Path(name).parts
        shared = min(len(path.parts), len(other))
        if path.parts[-shared:] == other[-shared:]:
            found.setdefault(shared, set()).add(digest)
    return found[max(found)] if found else set()


@cache
def _content(path: Path, _size: int, _changed: int) -> str:
    """As it is read: another compression of the same data is the same."""
    with open_bytes(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
