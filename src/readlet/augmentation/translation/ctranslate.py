"""Neural translation by CTranslate2: Marian models, and those of Argos packages.

Text is tokenised by SentencePiece; word alignments come from the model's attention.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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
    joined,
    loss_of,
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


@dataclass(frozen=True)
class NeuralModel:
    """The files of a model, which is loaded when it translates."""

    folder: Path
    source_pieces: Path
    target_pieces: Path
    ends_source: bool
    """Whether its input ends with `</s>`."""
    label: str = ""
    """Begins its version: that of a package."""
    target_prefix: str = ""
    """The token with which a translation begins; empty: none."""

    @cached_property
    def version(self) -> str:
        digest = hashlib.blake2b(digest_size=8)
        for path in (self.folder / "model.bin", self.source_pieces, self.target_pieces):
            with path.open("rb") as stream:
                while block := stream.read(1 << 20):
                    digest.update(block)
        return f"{self.label}{digest.hexdigest()} {_WAY}"

    @cached_property
    def _pieces(self) -> tuple[Pieces, Pieces]:
        return Pieces(self.source_pieces), Pieces(self.target_pieces)

    @cached_property
    def _loaded(self) -> Any:
        with extra_needed("translate", "neural translation"):
            import ctranslate2
        gpus = ctranslate2.get_cuda_device_count()
        try:
            # Each core translates its own batches: threads within a batch wait for each other.
            return ctranslate2.Translator(
                str(self.folder),
                device="cuda" if gpus else "cpu",
                device_index=list(range(gpus)) or 0,
                inter_threads=1 if gpus else own_cores(),
                intra_threads=1,
            )
        except (RuntimeError, ValueError) as error:
            fault = f"not a CTranslate2 model ({str(error).splitlines()[0]})"
            raise bad_input(self.folder, "", fault, "install or convert it again") from None

    def translate(self, sentences: Sequence[str]) -> list[Translation]:
        """The translations; a sentence that is too long for the model is translated in parts."""
        parts = [list(self._parts(sentence)) for sentence in sentences]
        texts = [
            s[start:end] for s, own in zip(sentences, parts, strict=True) for start, end in own
        ]
        made = iter(self._translated(texts))
        return [
            _whole(sentence, own, [next(made) for _ in own])
            for sentence, own in zip(sentences, parts, strict=True)
        ]

    def _parts(self, text: str, start: int = 0) -> Iterator[Range]:
        if len(text) < 2 or len(self._pieces[0].encoded(text)[0]) <= _LONGEST_INPUT:
            yield start, start + len(text)
            return
        for first, last in halves(text):
            yield from self._parts(text[first:last], start + first)

    def _translated(self, texts: Sequence[str]) -> list[Translation]:
        encoded = [self._pieces[0].encoded(text) for text in texts]
        after = [_END] if self.ends_source else []
        tokens = [[*pieces, *after] for pieces, _ in encoded]
        prefix = [self.target_prefix] if self.target_prefix else []
        try:
            results = self._loaded.translate_batch(
                tokens,
                target_prefix=[prefix] * len(tokens) if prefix else None,
                max_batch_size=_TOKENS_IN_BATCH[self._loaded.device],
                batch_type="tokens",
                beam_size=_BEAM,
                length_penalty=_LENGTH_PENALTY,
                replace_unknowns=True,
                return_attention=True,
                max_input_length=0,  # never cut: `_parts` has made them short enough
                max_decoding_length=_LONGEST_OUTPUT,
            )
        except RuntimeError as error:
            raise EngineError(f"{self.folder}: {str(error).splitlines()[0]}") from None
        return [
            self._result(text, offsets, result, skipped=len(prefix))
            for text, (_, offsets), result in zip(texts, encoded, results, strict=True)
        ]

    def _result(
        self, source: str, source_pieces: list[Range], result: Any, *, skipped: int
    ) -> Translation:
        pieces = result.hypotheses[0]
        text, target_pieces = self._pieces[1].decoded(pieces[skipped:])
        if len(pieces) >= _LONGEST_OUTPUT:
            return Translation(text, loss=Loss.REPEATED)  # it never ended
        loss = loss_of(source, text)
        if loss is not None or not text:
            return Translation(text, loss=loss)
        attention = np.asarray(result.attention[0], np.float32)  # (target pieces, source tokens)
        attention = attention[skipped:, : len(source_pieces)]  # (pieces, pieces)
        return Translation(
            text, links_from_attention(attention, source, source_pieces, text, target_pieces)
        )


def _whole(sentence: str, parts: Sequence[Range], made: Sequence[Translation]) -> Translation:
    """The translation of a sentence from those of its parts."""
    whole = joined(sentence, parts, made)
    if whole.losses:
        return Translation(whole.text, loss=whole.losses[0])
    links = tuple(link for pair in whole.sentences for link in pair.links or ())
    return Translation(whole.text, links)


@dataclass(eq=False)
class NeuralTranslator:
    """Models as a translation engine."""

    name: str
    models: Mapping[LanguagePair, NeuralModel]
    has_links = True

    def pairs(self) -> Collection[LanguagePair]:
        return self.models.keys()

    def version(self, pair: LanguagePair) -> str:
        return self.models[pair].version

    def translate(self, sentences: Sequence[str], pair: LanguagePair) -> list[Translation]:
        if pair not in self.models:
            raise ReadletError(f"{self.name}: does not translate {pair}; choose another engine")
        return self.models[pair].translate(sentences)
