"""CTranslate2 models: Marian models for one language pair, and NLLB models for many.

Text is tokenised by SentencePiece; word alignments come from the model's attention.
"""

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from readlet.augmentation.translation.sentences import halves
from readlet.augmentation.translation.types import (
    EngineError,
    LanguagePair,
    Link,
    Loss,
    Range,
    Translation,
    loss_of,
    short_code,
)
from readlet.errors import ReadletError, bad_input, extra_needed
from readlet.processes import own_cores
from readlet.text.words import word_spans


def links_from_attention(
    attention: NDArray[np.float32],
    source: str,
    source_pieces: Sequence[Range],
    target: str,
    target_pieces: Sequence[Range],
) -> tuple[Link, ...]:
    """For each word of the translation, the word of the source that it attends to most.

    `attention` has a row for each piece of the translation, a column for each of the source.
    """
    source_words, target_words = word_spans(source), word_spans(target)
    if not source_words or not target_words:
        return ()
    columns = _membership(source_words, len(source), source_pieces)  # (pieces, words)
    rows = _membership(target_words, len(target), target_pieces)  # (pieces, words)
    weights = rows.T @ attention @ columns  # (target words, source words)
    best = weights.argmax(axis=1)  # (target words,)
    return tuple(
        Link(source_words[column], word)
        for word, column, weight in zip(target_words, best, weights, strict=True)
        if weight[column] > 0
    )


def _membership(
    words: Sequence[Range], length: int, pieces: Sequence[Range]
) -> NDArray[np.float32]:
    """The share of each piece in each word; a piece of white space belongs to none."""
    word_of = np.full(length, -1)  # (characters,)
    for number, (start, end) in enumerate(words):
        word_of[start:end] = number
    table = np.zeros((len(pieces), len(words)), np.float32)  # (pieces, words)
    for number, (start, end) in enumerate(pieces):
        inside = word_of[start:end]  # (characters of the piece,)
        inside = inside[inside >= 0]  # (characters of words,)
        np.add.at(table[number], inside, 1 / max(1, len(inside)))
    return table


class Pieces:
    def __init__(self, path: Path) -> None:
        with extra_needed("translate", "neural translation"):
            import sentencepiece
        try:
            self._model = sentencepiece.SentencePieceProcessor(model_file=str(path))
        except (OSError, RuntimeError) as error:
            fault = f"not a SentencePiece model ({str(error).splitlines()[0]})"
            raise bad_input(path, "", fault, "install the package again") from None

    def encoded(self, text: str) -> tuple[list[str], list[Range]]:
        made = self._model.encode(text, return_type="offset_mapping")
        return made["pieces"], made["offsets"]

    def decoded(self, pieces: Sequence[str]) -> tuple[str, list[Range]]:
        if not pieces:
            return "", []
        made = self._model.decode(list(pieces), return_type="offset_mapping")
        return made["text"], made["offsets"]


_WAY = 1  # changes whenever the same model would be driven in another way
# Models are trained on single sentences; many have no positions beyond 512.
_LONGEST_INPUT, _LONGEST_OUTPUT = 200, 500  # pieces
_TOKENS_IN_BATCH = {"cpu": 768, "cuda": 16384}  # larger ones are no faster on a CPU
_BEAM, _LENGTH_PENALTY = 4, 0.2  # as in Argos Translate
_END = "</s>"


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of a model, and whether its source ends with `</s>`."""

    model: Path
    source_pieces: Path
    target_pieces: Path
    ends_source: bool

    @property
    def version(self) -> str:
        digest = hashlib.blake2b(digest_size=8)
        for path in (self.model / "model.bin", self.source_pieces, self.target_pieces):
            with path.open("rb") as stream:
                while block := stream.read(1 << 20):
                    digest.update(block)
        return f"{digest.hexdigest()} {_WAY}"


@dataclass(frozen=True, slots=True)
class _Made:
    """A part of a sentence and its translation."""

    part: Range
    translation: Translation


class NeuralModel:
    """A loaded model."""

    def __init__(self, files: ModelFiles) -> None:
        with extra_needed("translate", "neural translation"):
            import ctranslate2
        gpus = ctranslate2.get_cuda_device_count()
        self._device = "cuda" if gpus else "cpu"
        self._files = files
        self._source, self._target = Pieces(files.source_pieces), Pieces(files.target_pieces)
        try:
            # Each core translates its own batches: threads within a batch wait for each other.
            self._model = ctranslate2.Translator(
                str(files.model),
                device=self._device,
                device_index=list(range(gpus)) or 0,
                inter_threads=1 if gpus else own_cores(),
                intra_threads=1,
            )
        except (RuntimeError, ValueError) as error:
            fault = f"not a CTranslate2 model ({str(error).splitlines()[0]})"
            raise bad_input(files.model, "", fault, "install or convert it again") from None

    def translate(
        self, sentences: Sequence[str], *, source_prefix: str = "", target_prefix: str = ""
    ) -> list[Translation]:
        """The translations; a sentence that is too long for the model is translated in parts."""
        parts = [list(self._parts(sentence)) for sentence in sentences]
        texts = [
            s[start:end] for s, own in zip(sentences, parts, strict=True) for start, end in own
        ]
        made = iter(self._translated(texts, source_prefix, target_prefix))
        return [
            _joined(sentence, [_Made(part, next(made)) for part in own])
            for sentence, own in zip(sentences, parts, strict=True)
        ]

    def _parts(self, text: str, start: int = 0) -> Iterator[Range]:
        if len(text) < 2 or len(self._source.encoded(text)[0]) <= _LONGEST_INPUT:
            yield start, start + len(text)
            return
        for first, last in halves(text):
            yield from self._parts(text[first:last], start + first)

    def _translated(self, texts: Sequence[str], before: str, prefix: str) -> list[Translation]:
        encoded = [self._source.encoded(text) for text in texts]
        after = [_END] if self._files.ends_source else []
        tokens = [[*filter(None, [before]), *pieces, *after] for pieces, _ in encoded]
        try:
            results = self._model.translate_batch(
                tokens,
                target_prefix=[[prefix]] * len(tokens) if prefix else None,
                max_batch_size=_TOKENS_IN_BATCH[self._device],
                batch_type="tokens",
                beam_size=_BEAM,
                length_penalty=_LENGTH_PENALTY,
                replace_unknowns=True,
                return_attention=True,
                max_input_length=0,  # never cut: `_parts` has made them short enough
                max_decoding_length=_LONGEST_OUTPUT,
            )
        except RuntimeError as error:
            raise EngineError(f"{self._files.model}: {str(error).splitlines()[0]}") from None
        skipped = 1 if prefix else 0  # the translation begins with the prefix
        first = 1 if before else 0
        return [
            self._result(text, offsets, result, skipped, first)
            for text, (_, offsets), result in zip(texts, encoded, results, strict=True)
        ]

    def _result(
        self, source: str, source_pieces: list[Range], result: Any, skipped: int, first: int
    ) -> Translation:
        pieces = result.hypotheses[0]
        text, target_pieces = self._target.decoded(pieces[skipped:])
        if len(pieces) >= _LONGEST_OUTPUT:
            return Translation(text, loss=Loss.REPEATED)  # it never ended
        loss = loss_of(source, text)
        if loss is not None or not text:
            return Translation(text, loss=loss)
        attention = np.asarray(result.attention[0], np.float32)  # (target pieces, source tokens)
        attention = attention[skipped:, first : first + len(source_pieces)]  # (pieces, pieces)
        return Translation(
            text, links_from_attention(attention, source, source_pieces, text, target_pieces)
        )


def _joined(sentence: str, made: Sequence[_Made]) -> Translation:
    """The translations of a sentence's parts, joined by what was between the parts."""
    texts: list[str] = []
    links: list[Link] = []
    length = last = 0
    for one in made:
        (start, end), translation = one.part, one.translation
        texts += [sentence[last:start], translation.text]
        length += start - last
        links += [
            Link((a + start, b + start), (c + length, d + length))
            for (a, b), (c, d) in translation.links or ()
        ]
        length, last = length + len(translation.text), end
    loss = next((one.translation.loss for one in made if one.translation.loss), None)
    return Translation("".join(texts), None if loss else tuple(links), loss)


def model_config(folder: Path) -> dict[str, Any]:
    """The configuration of a CTranslate2 model; old models have none."""
    try:
        stored = json.loads((folder / "config.json").read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise bad_input(folder / "config.json", "", f"{error}", "install it again") from None
    return stored if isinstance(stored, dict) else {}


# Such as opus-mt-en-es, and opus-mt-en-es-ctranslate2.
_PAIR = re.compile(r"(?:.*[-_])?([a-z]{2,3})[-_]([a-z]{2,3})(?:[-_]ct(?:ranslate)?2.*)?")
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

    def __init__(self, folder: Path, name: str = "") -> None:
        """`name` gives the languages of a Marian model, if the folder's name does not."""
        self._folder = folder
        self._named = name or folder.resolve().name
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
        named = _PAIR.fullmatch(self._named)
        if named is None:
            remedy = "rename it so that it ends with the pair, such as opus-mt-en-es"
            raise bad_input(self._named, "", "its name does not give its languages", remedy)
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
            raise ReadletError(f"{self._folder}: does not translate {pair}; choose another engine")
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
