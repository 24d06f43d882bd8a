"""Translation engines: Apertium as it is installed, and neural models by path or hub name."""

import hashlib
import json
import re
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from readlet.augmentation.translation.apertium import INSTALL, INSTALLED_BY_IT, Apertium
from readlet.augmentation.translation.ctranslate import NeuralModel, NeuralTranslator
from readlet.augmentation.translation.types import LanguagePair, Translator, route_to, short_code
from readlet.errors import ReadletError, bad_input
from readlet.storage.files import cache_folder
from readlet.storage.overwrite import make_folder
from readlet.text.languages import check_language

_PACKAGE = ".argosmodel"  # the suffix of an Argos package
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
_FROM_HUB = ["model.bin", "*.json", "*.spm", f"*{_PACKAGE}"]
_KINDS = "choose apertium, an Argos package, or a CTranslate2 model's folder or hub name"


def translator_for(pair: LanguagePair, engine: str | None = None) -> Translator:
    """The engine for a pair, without a pivot if possible.

    `engine` names one, or several with commas between them: a package for each direction. Without
    a name it is Apertium.
    """
    engines = [engine_named(name) for name in (engine or "apertium").split(",")]
    able = [(route, made) for made in engines if (route := route_to(pair, made.pairs()))]
    if not able:
        for code in pair:
            check_language(code, str(pair))
        there = [f"{made.name} has {' '.join(sorted(map(str, made.pairs())))}" for made in engines]
        by_apertium = f"; or {INSTALL}" if {*pair} <= INSTALLED_BY_IT else ""
        raise ReadletError(
            f"no engine translates {pair}: {'; '.join(there)}; "
            f"give --engine an Argos package or a CTranslate2 model{by_apertium}"
        )
    return min(able, key=lambda found: len(found[0]))[1]  # ties go to the first


def engine_named(name: str) -> Translator:
    """Apertium, or an engine by the path or hub name of a package or a converted model."""
    if name == "apertium":
        return Apertium()
    path = Path(name)
    if path.is_dir() or path.suffix == _PACKAGE:
        return _engine_at(path)
    if _HUB_NAME.fullmatch(name):
        return _engine_from_hub(name)
    raise bad_input(name, "", "no such engine", _KINDS)


@cache  # so that a model is loaded once
def _engine_at(path: Path, name: str = "") -> Translator:
    return converted(path, name) if (path / "model.bin").is_file() else argos([path])


@cache
def _engine_from_hub(name: str) -> Translator:
    """A converted model, or Argos packages, downloaded once by the hub's own library."""
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(name, allow_patterns=_FROM_HUB))
    except Exception as error:  # its classes depend on the HTTP library that the hub's one uses
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:120]
        fault = f"not a folder, and not available from the hub ({reason})"
        raise bad_input(name, "", fault, _KINDS) from None
    if packages := sorted(folder.glob(f"*{_PACKAGE}")):
        return argos(packages)
    return _engine_at(folder, name.split("/")[1])


# Such as opus-mt-en-es, and opus-mt-en-es-ctranslate2.
_PAIR = re.compile(r"(?:.*[-_])?([a-z]{2,3})[-_]([a-z]{2,3})(?:[-_]ct(?:ranslate)?2.*)?")


def converted(folder: Path, name: str = "") -> NeuralTranslator:
    """A folder with a converted Marian model.

    `name` gives its languages, if the folder's name does not.
    """
    source, target = folder / "source.spm", folder / "target.spm"
    if not (source.is_file() and target.is_file()):
        fault = "no Marian model: it has no source.spm and target.spm"
        raise bad_input(folder, "", fault, "convert it with them, or give another")
    config = folder / "config.json"  # old models have none
    ends = not (config.is_file() and _json(config).get("add_source_eos"))  # else CTranslate2 does
    model = NeuralModel(folder, source, target, ends_source=ends)
    return NeuralTranslator("ctranslate2", {_pair_of(name or folder.resolve().name): model})


def _pair_of(name: str) -> LanguagePair:
    named = _PAIR.fullmatch(name)
    if named is None:
        remedy = "rename it so that it ends with the pair, such as opus-mt-en-es"
        raise bad_input(name, "", "its name does not give its languages", remedy)
    return LanguagePair(short_code(named[1]), short_code(named[2]))


def argos(packages: Sequence[Path]) -> NeuralTranslator:
    """Argos packages: `.argosmodel` files, or unpacked folders."""
    return NeuralTranslator("argos", dict(_package(path) for path in packages))


def _package(path: Path) -> tuple[LanguagePair, NeuralModel]:
    folder = path if path.is_dir() else _unpacked(path)
    metadata, pieces = folder / "metadata.json", folder / "sentencepiece.model"
    for needed in (metadata, pieces, folder / "model" / "model.bin"):
        if not needed.is_file():
            remedy = "give a package with SentencePiece, or a converted model"
            raise bad_input(path, "", f"not an Argos package: it has no {needed.name}", remedy)
    stored = _json(metadata)
    try:
        pair = LanguagePair(short_code(stored["from_code"]), short_code(stored["to_code"]))
        label = f"{stored['package_version']} "
    except (KeyError, TypeError, AttributeError) as error:
        raise bad_input(metadata, "", f"cannot be read ({error!r})", _AGAIN) from None
    prefix = stored.get("target_prefix", "")
    return pair, NeuralModel(
        folder / "model", pieces, pieces, ends_source=False, label=label, target_prefix=prefix
    )


_AGAIN = "download it again"
_BAD_ZIP = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
_MOST_BYTES = 8 << 30  # packages have a few hundred megabytes; far more would fill the disk


def _unpacked(path: Path) -> Path:
    """The folder in the cache into which a package file is unpacked, once and as a whole."""
    if not path.is_file():
        raise bad_input(path, "", "no such file", "check the path")
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()[:32]
    folder = cache_folder() / "packages" / digest
    if folder.is_dir():
        return folder
    make_folder(folder.parent)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".") as name:
        draft = Path(name, "package")
        try:
            with zipfile.ZipFile(path) as package:  # it writes nothing outside the folder
                if sum(entry.file_size for entry in package.infolist()) > _MOST_BYTES:
                    fault = f"would unpack to more than {_MOST_BYTES >> 30} GiB"
                    raise bad_input(path, "", fault, "do not trust it")
                package.extractall(draft)
        except _BAD_ZIP as error:
            raise bad_input(path, "", f"not an Argos package ({error})", _AGAIN) from None
        inside = [*draft.iterdir()]
        try:
            (inside[0] if len(inside) == 1 else draft).replace(folder)
        except OSError:
            if not folder.is_dir():  # else another process was faster
                raise
    return folder


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise bad_input(path, "", f"{error}", "download or convert it again") from None
