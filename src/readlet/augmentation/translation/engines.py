"""Which translation engines this machine has, and which one translates a language pair."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from readlet.augmentation.translation import apertium
from readlet.augmentation.translation.apertium import Apertium
from readlet.augmentation.translation.argos import SUFFIX, Argos, opened
from readlet.augmentation.translation.ctranslate import CTranslate2, is_model_folder
from readlet.augmentation.translation.types import LanguagePair, Translator, route_to
from readlet.errors import ReadletError, bad_input
from readlet.text.languages import check_language

# Neural models first: they translate better.
_INSTALLED = {"argos": Argos, "apertium": Apertium}
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
_FROM_HUB = ["model.bin", "*.json", "*.spm", "*.bpe.model", f"*{SUFFIX}"]
_KINDS = (
    f"choose {', '.join(_INSTALLED)}, a {SUFFIX} file, a CTranslate2 model's folder or hub name"
)


def installed_engines() -> Iterator[Translator]:
    """The engines with at least one language pair, in order of preference."""
    for engine in _INSTALLED.values():
        made: Translator = engine()
        if made.pairs():
            yield made


def engine_named(name: str) -> Translator:
    """An engine by its name, or by the path of a package or of a converted model."""
    if name in _INSTALLED:
        made: Translator = _INSTALLED[name]()
        return made
    path = Path(name)
    if path.is_dir() or path.suffix == SUFFIX:
        return _engine_at(path)
    if _HUB_NAME.fullmatch(name):
        return _engine_from_hub(name)
    raise bad_input(name, "", "no such engine", _KINDS)


@cache  # so that a model is loaded once
def _engine_at(path: Path, name: str = "") -> Translator:
    return CTranslate2(path, name) if is_model_folder(path) else Argos([opened(path)])


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
    if packages := sorted(folder.glob(f"*{SUFFIX}")):
        return Argos([opened(package) for package in packages])
    return _engine_at(folder, name.split("/")[1])


def translator_for(pair: LanguagePair, engine: str | None = None) -> Translator:
    """The engine for a pair, without a pivot if possible.

    `engine` names one, or several with commas between them: a package for each direction.
    """
    named = engine.split(",") if engine else []
    engines = [engine_named(name) for name in named] or list(installed_engines())
    able = [(route, made) for made in engines if (route := route_to(pair, made.pairs()))]
    if not able:
        for code in pair:
            check_language(code, str(pair))
        raise _no_engine(pair, engines)
    return min(able, key=lambda found: len(found[0]))[1]  # ties go to the first


def _no_engine(pair: LanguagePair, engines: list[Translator]) -> ReadletError:
    there = [f"{made.name} has {' '.join(sorted(map(str, made.pairs())))}" for made in engines]
    by_apertium = f"; or {apertium.INSTALL}" if {*pair} <= apertium.INSTALLED_BY_IT else ""
    return ReadletError(
        f"no engine translates {pair}: {'; '.join(there) or 'none is installed'}; "
        f"give --engine a {SUFFIX} file or a CTranslate2 model{by_apertium}"
    )
