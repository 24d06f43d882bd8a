"""Rows to the arrays that an exported graph reads, by kind of text encoder; and its files."""

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from readlet.encoding.batches import Arrays, Batches, Shape
from readlet.encoding.features import Features
from readlet.encoding.pretrained import check_length
from readlet.encoding.rows import Ints
from readlet.encoding.sentence_arrays import in_batches as sentences_in_batches
from readlet.encoding.sentence_arrays import sentence_arrays
from readlet.encoding.sentences import SentenceEncoder, SentenceRows
from readlet.encoding.subword_arrays import in_batches as subwords_in_batches
from readlet.encoding.subword_arrays import subword_arrays
from readlet.encoding.subwords import SubwordEncoder, SubwordRows
from readlet.encoding.vocabulary import Vocabulary
from readlet.encoding.word_arrays import PADDING, shapes, word_arrays
from readlet.encoding.word_arrays import in_batches as words_in_batches
from readlet.encoding.word_encoder import WordEncoder
from readlet.families.tokenizer_files import CONFIG, labels_of, load_tokenizer, save_tokenizer
from readlet.recipe.classifier import ClassifierRecipe
from readlet.recipe.encoder import EncoderRecipe
from readlet.recipe.qacnn import QacnnRecipe
from readlet.recipe.recipe import Recipe
from readlet.storage.damage import damage_of
from readlet.storage.json_files import read_json, write_json

_WORDS = "vocabulary.json"


@dataclass(frozen=True)
class Inputs(ABC):
    """A text encoder, and what the graph reads of its rows."""

    names: ClassVar[tuple[str, ...]]
    """Of the arrays that the network reads, in the order of its parameters."""

    encoder: Any
    null: bool  # whether the model scores "no answer"

    @abstractmethod
    def batches(self, rows: Any, batch_size: int) -> Batches[Arrays]: ...

    def allowed(self, arrays: Arrays) -> NDArray[np.bool_]:
        """Which places of a reader's batch may be part of an answer: (B, L)."""
        allowed: NDArray[np.bool_] = arrays["allowed"]
        return allowed

    @abstractmethod
    def save(self, folder: Path) -> list[str]:
        """Write the files of the encoder and return their names."""


@dataclass(frozen=True)
class WordInputs(Inputs):
    encoder: WordEncoder

    names = ("forms", "context", "question", "words", "characters", "keys")

    def batches(self, rows: Features, batch_size: int) -> Batches[Arrays]:
        tables = {
            "words": rows.form_words,
            "characters": rows.form_characters,
            "keys": rows.form_keys,
        }  # (F,), (F, W), (F,)

        def collate(shape: Shape, numbers: Ints, size: int) -> Arrays:
            return word_arrays(rows, self.null, shape, numbers, size) | tables

        listed = shapes(self.encoder.windows, null=self.null)
        return words_in_batches(rows, listed, batch_size, collate, null=self.null)

    def allowed(self, arrays: Arrays) -> NDArray[np.bool_]:
        words = arrays["context"][:, int(self.null) :]  # (B, Lc - null)
        kept: NDArray[np.bool_] = words != PADDING  # (B, Lc - null)
        return kept

    def save(self, folder: Path) -> list[str]:
        write_json(folder / _WORDS, self.encoder.vocabulary.to_json())
        return [_WORDS]


@dataclass(frozen=True)
class SubwordInputs(Inputs):
    encoder: SubwordEncoder

    names = ("tokens", "types", "keep", "first", "allowed")

    def batches(self, rows: SubwordRows, batch_size: int) -> Batches[Arrays]:
        def collate(shape: Shape, numbers: Ints, size: int) -> Arrays:
            return subword_arrays(rows, self.encoder.layout, shape, numbers, size)

        return subwords_in_batches(rows, self.encoder, batch_size, collate, null=self.null)

    def save(self, folder: Path) -> list[str]:
        return save_tokenizer(folder, self.encoder)


@dataclass(frozen=True)
class SentenceInputs(Inputs):
    encoder: SentenceEncoder

    names = ("tokens", "types", "keep")

    def batches(self, rows: SentenceRows, batch_size: int) -> Batches[Arrays]:
        def collate(shape: Shape, numbers: Ints, size: int) -> Arrays:
            return sentence_arrays(rows, self.encoder.layout, shape, numbers, size)

        return sentences_in_batches(rows, self.encoder, batch_size, collate)

    def save(self, folder: Path) -> list[str]:
        labels = {"labels": asdict(self.encoder.labels), "pairs": self.encoder.pairs}
        return save_tokenizer(folder, self.encoder, **labels)


def load_inputs(folder: Path, recipe: Recipe, *, null: bool) -> Inputs:
    """The inputs that `save` wrote; `damage_of` reports damaged files."""
    if isinstance(recipe, QacnnRecipe):
        with damage_of(folder / _WORDS):
            known = Vocabulary.from_json(read_json(folder / _WORDS))
        nothing = np.zeros((0, 0), np.float32)  # the vectors are in the graph
        return WordInputs(WordEncoder(known, nothing, recipe.data.windows), null)
    stored = load_tokenizer(folder)
    if isinstance(recipe, EncoderRecipe):
        subwords = SubwordEncoder(
            stored.tokenizer, stored.layout, recipe.data.windows, stored.config
        )
        check_length(subwords.longest, stored.config, recipe.model.encoder)
        return SubwordInputs(subwords, null)
    with damage_of(folder / CONFIG):
        if not isinstance(recipe, ClassifierRecipe):
            raise ValueError(f"a recipe of kind {recipe.model.kind!r}")
        labels, pairs = labels_of(stored.more, recipe)
        length = recipe.data.max_length
        sentences = SentenceEncoder(
            stored.tokenizer, stored.layout, stored.config, labels, length, pairs=pairs
        )
        check_length(sentences.longest, stored.config, recipe.model.encoder)
    return SentenceInputs(sentences, null)
