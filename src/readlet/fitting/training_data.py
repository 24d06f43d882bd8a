"""The data of a recipe, read, split and encoded: all that training needs to know of text."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from readlet.encoding.cache import Stored, cache_key, cached
from readlet.encoding.features import Features, count_words, encode
from readlet.encoding.vectors import concatenate_vectors
from readlet.encoding.vocabulary import Vocabulary, build_vocabulary, frozen_table
from readlet.encoding.windows import Windows
from readlet.errors import ReadletError, bad_input
from readlet.formats import read_questions, training_file
from readlet.reading.fit_calibration import held_out_contexts
from readlet.reading.reader import Reader
from readlet.recipe.recipe import Recipe
from readlet.types import Example


@dataclass(frozen=True)
class Corpus:
    """Examples in their three parts, encoded."""

    key: str  # digest of all that the training features depend on
    vocabulary: Vocabulary
    frozen: torch.Tensor  # (words, width)
    train_examples: Sequence[Example]
    train: Features
    has_impossible: bool  # some training question has no answer; windows without it do not count
    held_out_examples: Sequence[Example]
    held_out: Features
    dev_examples: Sequence[Example]
    dev: Features


class Corpora:
    """The last few corpora of this process: runs that share their data prepare it once."""

    def __init__(self, room: int = 4) -> None:
        self._room = room
        self._kept: dict[str, Corpus] = {}

    def find(self, recipe: Recipe) -> Corpus | None:
        return self._kept.get(self._key(recipe))

    def add(self, recipe: Recipe, corpus: Corpus) -> Corpus:
        while len(self._kept) >= self._room:
            del self._kept[next(iter(self._kept))]  # the oldest
        self._kept[self._key(recipe)] = corpus
        return corpus

    def _key(self, recipe: Recipe) -> str:
        """All fields that `prepare` looks at; the seed draws the held-out questions."""
        parts = (recipe.data, recipe.words, recipe.training.start, recipe.training.seed)
        return repr(parts)


class DataFiles(NamedTuple):
    train: list[Path]
    dev: Path | None
    calibration: Path | None
    vectors: list[Path]


class Parts(NamedTuple):
    """The questions of a recipe as they were read, before any is encoded."""

    files: DataFiles
    train: list[Example]
    held_out: list[Example]
    dev: list[Example]


def data_files(recipe: Recipe) -> DataFiles:
    """The files that a recipe names: all of them there, before any is read."""
    data = recipe.data
    named = {
        "data.train": list(data.train),
        "data.dev": [data.dev] if data.dev else [],
        "data.calibration": [data.calibration] if data.calibration else [],
    }
    found = {field: [training_file(source) for source in named[field]] for field in named}
    found["words.vectors"] = [Path(path) for path in recipe.words.vectors]
    for field, paths in found.items():
        for path in paths:
            if not path.is_file():
                raise bad_input(path, field, "no such file", "check the recipe")
    train, dev, calibration, vectors = found.values()
    return DataFiles(train, next(iter(dev), None), next(iter(calibration), None), vectors)


def read_parts(recipe: Recipe) -> Parts:
    """Read and split the questions: what is wrong with them is told before anything slow begins."""
    files = data_files(recipe)
    examples = read_questions(*files.train)
    if not examples:
        raise ReadletError("data.train: no question in these files; name others")
    train, held_out = _split(recipe, examples, files.calibration)
    train = _part(train, recipe.data.share, recipe.training.seed)
    dev = _examples_of(files.dev, "data.dev") if files.dev else held_out
    return Parts(files, train, held_out, dev)


def prepare(recipe: Recipe, start: Reader | None = None, parts: Parts | None = None) -> Corpus:
    """Read and encode all data of a recipe; the slow parts come from the cache the second time.

    With a reader to start from, its words are the words; the recipe's vectors are not read.
    """
    windows = Windows(recipe.data.max_context, recipe.data.overlap, recipe.data.max_question)
    files, train, held_out, dev_examples = parts or read_parts(recipe)
    settings: dict[str, Any] = {"held_out": _contexts(held_out)}
    if recipe.data.share < 1.0:
        settings["train"] = _contexts(train)
    if start is None:
        settings["words"] = recipe.words.model_dump()
        vocabulary_key = cache_key([*files.train, *files.vectors], settings)
        arrays, meta = cached(vocabulary_key, lambda: _vocabulary(recipe, train, files.vectors))
        vocabulary = Vocabulary.from_json(meta)
        frozen = torch.from_numpy(np.array(arrays["frozen"]))  # (words, width)
    else:
        settings["words"] = start.vocabulary.to_json()
        vocabulary_key = cache_key(files.train, settings)
        vocabulary, frozen = start.vocabulary, start.model.embedding.frozen

    def encoded(part: str, listed: Sequence[Example], paths: list[Path]) -> Features:
        chosen = {"vocabulary": vocabulary_key, "part": part, "windows": vars(windows)}
        stored = cached(
            cache_key(paths, chosen), lambda: _store(encode(listed, vocabulary, windows))
        )
        return Features(**stored[0], notes=stored[1])

    held_out_features = encoded("held-out", held_out, _present(*files.train, files.calibration))
    dev = encoded("dev", dev_examples, [files.dev]) if files.dev else held_out_features
    return Corpus(
        key=vocabulary_key,
        vocabulary=vocabulary,
        frozen=frozen,
        train_examples=train,
        train=encoded("train", train, files.train),
        has_impossible=any(not example.answers for example in train),
        held_out_examples=held_out,
        held_out=held_out_features,
        dev_examples=dev_examples,
        dev=dev,
    )


def _split(
    recipe: Recipe, examples: list[Example], calibration: Path | None
) -> tuple[list[Example], list[Example]]:
    """What is trained on, and what the calibration is fitted on."""
    if calibration:
        return examples, _examples_of(calibration, "data.calibration")
    aside = held_out_contexts(examples, recipe.data.held_out, recipe.training.seed)
    train = [e for e in examples if e.context not in aside]
    if not train:
        raise ReadletError("data.train: a single context; give at least two, one is held out")
    return train, [e for e in examples if e.context in aside]


def _part(train: list[Example], share: float, seed: int) -> list[Example]:
    """Questions of a share of the contexts; a larger share has those of a smaller one too."""
    contexts = _contexts(train)
    order = np.random.default_rng(seed).permutation(len(contexts))
    chosen = {contexts[int(i)] for i in order[: max(1, round(share * len(contexts)))]}
    return [example for example in train if example.context in chosen]


def _examples_of(path: Path, field: str) -> list[Example]:
    examples = read_questions(path)
    if not examples:
        raise bad_input(path, field, "no question in this file", "name another")
    return examples


def _contexts(examples: Sequence[Example]) -> list[str]:
    return sorted({example.context for example in examples})


def _present(*paths: Path | None) -> list[Path]:
    return [path for path in paths if path is not None]


def _vocabulary(recipe: Recipe, train: Sequence[Example], vectors: list[Path]) -> Stored:
    settings = recipe.words
    words: list[str] = []
    matrix = None
    if vectors:
        words, matrix = concatenate_vectors(vectors, settings.max_words)
    known = build_vocabulary(
        count_words(train),
        words,
        trainable_words=settings.trainable_words,
        min_count=settings.min_count,
        min_character_count=settings.min_character_count,
        max_characters=settings.max_characters,
    )
    width = settings.width if matrix is None else matrix.shape[1]
    return {"frozen": frozen_table(known, matrix, width)}, known.to_json()


def _store(features: Features) -> Stored:
    return features.arrays(), features.notes
