"""Argos packages: `.argosmodel` files, unpacked folders, and those that Argos has installed."""

import hashlib
import json
import os
import shutil
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from readlet.augmentation.translation.ctranslate import ModelFiles, NeuralModel
from readlet.augmentation.translation.types import LanguagePair, Translation, short_code
from readlet.errors import InputError, bad_input
from readlet.storage.files import cache_folder
from readlet.storage.overwrite import make_folder

SUFFIX = ".argosmodel"
_AGAIN = "download it again"
_BAD_ZIP = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
# Packages have a few hundred megabytes and some twenty files; far more is an attack or an error.
_MOST_BYTES, _MOST_FILES = 8 << 30, 10_000


@dataclass(frozen=True, slots=True)
class Package:
    """An unpacked package."""

    folder: Path
    pair: LanguagePair
    version: str
    target_prefix: str = ""

    @classmethod
    def read(cls, folder: Path) -> "Package":
        path = folder / "metadata.json"
        try:
            stored = json.loads(path.read_text("utf-8"))
            pair = LanguagePair(short_code(stored["from_code"]), short_code(stored["to_code"]))
            version, prefix = str(stored["package_version"]), str(stored.get("target_prefix", ""))
        except FileNotFoundError:
            raise bad_input(
                folder, "", "not an Argos package: it has no metadata.json", _AGAIN
            ) from None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise bad_input(path, "", f"cannot be read ({error!r})", _AGAIN) from None
        for needed in ("model/model.bin", "sentencepiece.model"):
            if not (folder / needed).is_file():
                remedy = "only packages with SentencePiece are supported; take another version"
                raise bad_input(folder, "", f"has no {needed}", remedy)
        return cls(folder, pair, version, prefix)

    @property
    def files(self) -> ModelFiles:
        pieces = self.folder / "sentencepiece.model"
        return ModelFiles(self.folder / "model", pieces, pieces, ends_source=False)


class Argos:
    """Argos packages as a translation engine."""

    name = "argos"
    has_links = True

    def __init__(self, packages: Iterable[Package] | None = None) -> None:
        chosen: dict[LanguagePair, Package] = {}
        for package in installed() if packages is None else packages:
            before = chosen.get(package.pair)
            if before is None or version_key(before.version) < version_key(package.version):
                chosen[package.pair] = package
        self._packages = chosen

    def pairs(self) -> Collection[LanguagePair]:
        return self._packages.keys()

    def version(self, pair: LanguagePair) -> str:
        package = self._packages[pair]
        return f"{package.version} {_content_version(package)}"

    def translate(self, sentences: Sequence[str], pair: LanguagePair) -> list[Translation]:
        package = self._packages[pair]
        return _loaded(package).translate(sentences, target_prefix=package.target_prefix)


@lru_cache
def _content_version(package: Package) -> str:
    return package.files.version


@lru_cache(maxsize=2)  # one for each direction; a model may take a gigabyte
def _loaded(package: Package) -> NeuralModel:
    return NeuralModel(package.files)


def packages_folder() -> Path:
    """Where Argos Translate installs packages."""
    if given := os.environ.get("ARGOS_PACKAGES_DIR"):
        return Path(given)
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "argos-translate" / "packages"


def installed() -> Iterator[Package]:
    """The packages for translation in Argos' folder; others, and unfinished ones, are reported."""
    folder = packages_folder()
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if (path / "metadata.json").is_file():
            try:
                yield Package.read(path)
            except InputError as error:
                warnings.warn(f"not used: {error}", stacklevel=2)


def version_key(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdecimal() else 0 for part in version.split("."))


def opened(path: Path) -> Package:
    """The package of a folder or of a file; a file is unpacked once, into the cache."""
    if path.is_dir():
        return Package.read(path)
    if not path.is_file():
        raise bad_input(path, "", "no such file", "check the path")
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()[:32]
    folder = cache_folder() / "packages" / digest
    return Package.read(folder) if folder.is_dir() else unpack(path, folder)


def unpack(path: Path, folder: Path) -> Package:
    """Unpack a package file as this folder: all or nothing.

    A folder that exists stays: another process was faster.
    """
    make_folder(folder.parent)
    draft = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        try:
            with zipfile.ZipFile(path) as package:
                _check(path, package)
                package.extractall(draft)
        except _BAD_ZIP as error:
            raise bad_input(path, "", f"not an Argos package ({error})", _AGAIN) from None
        [inside] = draft.iterdir() if len(list(draft.iterdir())) == 1 else [draft]
        Package.read(inside)
        inside.chmod(0o755)  # a temporary folder is private
        try:
            inside.replace(folder)
        except OSError:
            if not folder.is_dir():
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return Package.read(folder)


def _check(path: Path, package: zipfile.ZipFile) -> None:
    """Reject an archive that would fill the disk. `zipfile` writes nothing outside the folder."""
    entries = package.infolist()
    if len(entries) > _MOST_FILES or sum(entry.file_size for entry in entries) > _MOST_BYTES:
        fault = f"would unpack to more than {_MOST_BYTES >> 30} GiB or {_MOST_FILES} files"
        raise bad_input(path, "", fault, "do not trust it")
