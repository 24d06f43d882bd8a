"""Folders of CTranslate2 models: Marian models of one language pair, and NLLB models of many."""

import json
import re
from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import permutations
from pathlib import Path

from readlet.errors import ReadletError, bad_input
from readlet.translation.languages import short_code
from readlet.translation.neural import ModelFiles, NeuralModel, model_config
from readlet.translation.types import LanguagePair, Translation

_PAIR = re.compile(r"(?:.*[-_])?([a-z]{2,3})[-_]([a-z]{2,3})")
_LANGUAGE = re.compile(r"[a-z]{3}_[A-Z][a-z]{3}")  # spa_Latn, as in the vocabulary of NLLB
_LAYOUT = (
    "it needs model.bin with source.spm and target.spm (Marian), "
    "or with sentencepiece.bpe.model (NLLB)"
)


def is_model_folder(folder: Path) -> bool:
    return (folder / "model.bin").is_file()


class CTranslate2:
    """A folder with a converted model as a translation engine."""

    name = "ctranslate2"
    has_links = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        source, target = folder / "source.spm", folder / "target.spm"
        self._languages: dict[str, str] = {}  # of NLLB: `es` is `spa_Latn` there
        if not source.is_file():
            source = target = folder / "sentencepiece.bpe.model"
            self._languages = _languages(folder)
        if not all(path.is_file() for path in (folder / "model.bin", source, target)):
            raise bad_input(folder, "", "no translation model", _LAYOUT)
        ends = not model_config(folder).get("add_source_eos")  # else CTranslate2 adds it
        self._files = ModelFiles(folder, source, target, ends_source=ends)

    @cached_property
    def _model(self) -> NeuralModel:
        return NeuralModel(self._files)

    @cached_property
    def _pairs(self) -> frozenset[LanguagePair]:
        if self._languages:
            return frozenset(LanguagePair(*pair) for pair in permutations(self._languages, 2))
        named = _PAIR.fullmatch(self._folder.resolve().name)
        if named is None:
            remedy = "rename it so that it ends with the pair, such as opus-mt-en-es"
            raise bad_input(self._folder, "", "its name does not say which languages", remedy)
        return frozenset({LanguagePair(short_code(named[1]), short_code(named[2]))})

    @cached_property
    def _version(self) -> str:
        return self._files.version

    def pairs(self) -> Collection[LanguagePair]:
        return self._pairs

    def version(self, pair: LanguagePair) -> str:
        return self._version

    def translate(self, sentences: Sequence[str], pair: LanguagePair) -> list[Translation]:
        if pair not in self.pairs():
            raise ReadletError(f"{self._folder}: has no {pair}; choose another engine")
        return self._model.translate(
            sentences,
            source_prefix=self._languages.get(pair.source, ""),
            target_prefix=self._languages.get(pair.target, ""),
        )


def _languages(folder: Path) -> dict[str, str]:
    """The language tokens in the vocabulary of a model."""
    paths = [folder / name for name in ("shared_vocabulary.json", "source_vocabulary.json")]
    path = next(filter(Path.is_file, paths), None)
    if path is None:
        return {}
    try:
        tokens = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise bad_input(path, "", f"{error}", "convert the model again") from None
    found: dict[str, str] = {}
    for token in sorted(token for token in tokens if _LANGUAGE.fullmatch(str(token))):
        found.setdefault(short_code(token), token)
    return found
