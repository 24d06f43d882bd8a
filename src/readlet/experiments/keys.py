"""The key of a run: a hash of everything that determines it.

This is the recipe, its seed, and the content of the files that it names, wherever they are. The
version of the program is not part of the key: runs of other versions count, and the report says so.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from readlet.data.sources import training_file
from readlet.errors import ReadletError, bad_input
from readlet.inference.model_folder import BUNDLED, reader_files
from readlet.recipe.recipe import Recipe, fields_with, names_in
from readlet.storage.files import open_bytes
from readlet.storage.sections import SourceEncoder, SourceFile, SourceReader
from readlet.text.pretrained import encoder_digest

Digests = Mapping[str, str]
"""Digests of the content of files, by name."""


def run_key(recipe: Recipe, known: Digests | None = None) -> str:
    """Digest of everything that determines a run; the paths of its files do not matter."""
    values = recipe.model_dump(mode="json")
    del values["name"]
    for section, field, _, value in fields_with(recipe, SourceFile, SourceReader):
        if field in values[section]:
            values[section][field] = [_digest(name, known or {}) for name in names_in(value)]
    for section, field, _, value in fields_with(recipe, SourceEncoder):
        # A start reader brings its own.
        own = "" if recipe.training.start else _digest_of_encoder(value, known or {})
        values[section][field] = own
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


def source_names(recipe: Recipe) -> list[str]:
    """All files and readers named in a recipe."""
    sources = fields_with(recipe, SourceFile, SourceReader)
    return [name for field in sources for name in names_in(field.value)]


def source_digests(recipe: Recipe) -> Digests:
    """Digests of the files and readers of a recipe by name, to identify them on other machines."""
    found = {Path(name).as_posix(): _digest(name, {}) for name in source_names(recipe)}
    if not recipe.training.start:
        for encoder in fields_with(recipe, SourceEncoder):
            found[Path(encoder.value).as_posix()] = encoder_digest(encoder.value)
    return found


def _digest(source: str, known: Digests) -> str:
    """Digest of the content of a file, or of the files of a reader."""
    path = training_file(source)
    if path.is_file():
        return _digest_of_file(path)
    if source == BUNDLED or path.is_dir():
        digests = [_digest_of_file(file) for file in reader_files(source)]
        return hashlib.sha256("".join(digests).encode()).hexdigest()
    matching = _matching(path, known)
    if len(matching) == 1:
        return matching.pop()
    raise bad_input(source, "", "no such file", "give its folder with --data")


def _digest_of_encoder(name: str, known: Digests) -> str:
    """An encoder that is not on this machine is known from the runs that were trained with it."""
    try:
        return encoder_digest(name)
    except (ReadletError, OSError):
        matching = _matching(Path(name), known)
        if len(matching) == 1:
            return matching.pop()
        raise


def _digest_of_file(path: Path) -> str:
    stat = path.stat()
    return _content(path, stat.st_size, stat.st_mtime_ns)


def _matching(path: Path, known: Digests) -> set[str]:
    """Digests of the known files with this name: the longest common end of the path counts.

    On other machines they had other folders, and older runs stored only the last part of a name.
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
    """Digest of the decompressed content: the compression does not matter."""
    with open_bytes(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
