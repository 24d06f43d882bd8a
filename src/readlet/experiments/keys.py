"""What a run is known by: a hash of all that determines it.

The recipe, its seed, and the content of the files that it names, wherever they lie. Not the
program: a run made by another version counts, and the report says so.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from readlet.errors import bad_input
from readlet.formats import training_file
from readlet.reading.reader_names import BUNDLED, reader_files
from readlet.recipe.recipe import Recipe
from readlet.recipe.traits import SourceFile, SourceReader, fields_with, names_in
from readlet.recipe.upgrade import without_later_fields
from readlet.storage.files import open_bytes

Digests = Mapping[str, str]
"""What files are known by: name, digest of the content."""


def run_key(recipe: Recipe, known: Digests | None = None) -> str:
    """Digest of everything that determines a run; where its files lie does not matter."""
    values = without_later_fields(recipe)
    del values["name"]
    for section, field, _, value in fields_with(recipe, SourceFile, SourceReader):
        if field in values[section]:
            values[section][field] = [_digest(name, known or {}) for name in names_in(value)]
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


def source_names(recipe: Recipe) -> list[str]:
    """Every file and every reader that a recipe names."""
    sources = fields_with(recipe, SourceFile, SourceReader)
    return [name for field in sources for name in names_in(field.value)]


def source_digests(recipe: Recipe) -> Digests:
    """The files and readers of a recipe as it names them, to be known by on other machines."""
    return {Path(name).as_posix(): _digest(name, {}) for name in source_names(recipe)}


def _digest(source: str, known: Digests) -> str:
    """Of a file's content, or of the files that make a reader what it is."""
    path = training_file(source)
    if path.is_file():
        return _digest_of_file(path)
    if source == BUNDLED or path.is_dir():
        digests = [_digest_of_file(file) for file in reader_files(source)]
        return hashlib.sha256("".join(digests).encode()).hexdigest()
    alike = _alike(path, known)
    if len(alike) == 1:
        return alike.pop()
    raise bad_input(source, "", "no such file", "name its folder with --data")


def _digest_of_file(path: Path) -> str:
    stat = path.stat()
    return _content(path, stat.st_size, stat.st_mtime_ns)


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
