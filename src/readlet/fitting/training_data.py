"""The data of a recipe: read, split into train, held-out and dev, and encoded."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from readlet.encoding.cache import cache_key, cached
from readlet.encoding.rows import Rows
from readlet.errors import ReadletError, bad_input
from readlet.families import trainable_family
from readlet.families.family import Encoder
from readlet.fitting.folds import contexts_in_fold
from readlet.formats import read_questions
from readlet.formats.sources import has_columns, training_file
from readlet.formats.unique_ids import with_own_ids
from readlet.reading.reader import Reader
from readlet.recipe.recipe import Recipe
from readlet.recipe.traits import SourceFile, fields_with, names_in
from readlet.types import Example

# More questions change the second digit of the temperature at most, and cost memory.
MAX_HELD_OUT = 2000


class Part(NamedTuple):
    """Examples and their rows."""

    examples: Sequence[Example]
    rows: Rows


@dataclass(frozen=True)
class TrainingData:
    """The questions of a recipe in their three parts, encoded."""

    key: str  # digest of everything that determines the training rows
    encoder: Encoder
    train: Part
    held_out: Part
    dev: Part
    replayed: int = 0  # of the training questions, those of data.replay, the last ones

    @property
    def has_impossible(self) -> bool:
        """Whether some training question has no answer; windows without an answer do not count."""
        return any(not example.answers for example in self.train.examples)


class RecentData:
    """The last few data sets of this process: runs that share their data prepare it once."""

    def __init__(self, capacity: int = 4) -> None:
        self._capacity = capacity
        self._kept: dict[str, TrainingData] = {}

    def find(self, recipe: Recipe) -> TrainingData | None:
        return self._kept.get(self._key(recipe))

    def add(self, recipe: Recipe, data: TrainingData) -> TrainingData:
        while len(self._kept) >= self._capacity:
            del self._kept[next(iter(self._kept))]  # the oldest
        self._kept[self._key(recipe)] = data
        return data

    def _key(self, recipe: Recipe) -> str:
        """All fields that `prepare` reads; the seed draws the held-out questions."""
        kind, training = recipe.model.kind, recipe.training
        # With a start reader its encoder is used; that of the recipe may not even be there.
        settings = {} if training.start else trainable_family(kind).encoder_settings(recipe)
        return repr((kind, recipe.data, settings, training.start, training.seed))


class DataFiles(NamedTuple):
    train: list[Path]
    replay: list[Path]
    dev: Path | None
    calibration: Path | None
    others: list[Path]  # of the encoder: word vectors


class SplitQuestions(NamedTuple):
    """The questions of a recipe, before they are encoded."""

    files: DataFiles
    train: list[Example]
    held_out: list[Example]
    dev: list[Example]
    replayed: int  # of the training questions, those of data.replay, the last ones


def data_files(recipe: Recipe) -> DataFiles:
    """The files that a recipe names; an error if one does not exist, before any is read."""
    found: dict[str, list[Path]] = {}
    for field in fields_with(recipe, SourceFile):
        find = training_file if field.section == "data" else Path
        found[field.path] = [find(name) for name in names_in(field.value)]
        for path in found[field.path]:
            if not path.is_file():
                raise bad_input(path, field.path, "no such file", "check the recipe")
    names = ("train", "replay", "dev", "calibration")
    train, replay, dev, calibration = (found.pop(f"data.{name}") for name in names)
    others = [path for paths in found.values() for path in paths]
    return DataFiles(train, replay, next(iter(dev), None), next(iter(calibration), None), others)


def read_split(recipe: Recipe) -> SplitQuestions:
    """Read and split the questions: errors in them are reported before any slow work."""
    files = data_files(recipe)
    columns, encoding = recipe.data.named_columns, recipe.data.encoding
    if columns and not any(has_columns(path, encoding) for path in files.train):
        raise ReadletError("data.columns: the training files have no named columns; omit --column")
    examples = read_questions(*files.train, columns=columns, encoding=encoding)
    if not examples:
        raise ReadletError("data.train: no questions in these files; name others")
    examples = _without_fold(recipe, examples)
    if not examples:
        raise ReadletError("data.fold: all training contexts are in this part; name another part")
    train, held_out = _split(recipe, examples, files.calibration)
    train = _share(train, recipe.data.share, recipe.training.seed)
    dev = _examples_of(recipe, files.dev, "data.dev") if files.dev else held_out
    own = len(train)
    if files.replay:
        more = read_questions(*files.replay, columns=columns, encoding=encoding)
        apart = {example.context for example in (*held_out, *dev)}
        more = [e for e in _without_fold(recipe, more) if e.context not in apart]
        # As many as one's own at most: they are to be remembered, not to take over.
        drawn = np.random.default_rng(recipe.training.seed).permutation(len(more))[:own]
        train = with_own_ids([*train, *(more[i] for i in sorted(drawn.tolist()))])
    return SplitQuestions(files, train, held_out, dev, len(train) - own)


def prepare(
    recipe: Recipe, start: Reader | None = None, questions: SplitQuestions | None = None
) -> TrainingData:
    """Read and encode all data of a recipe; the slow parts are cached.

    With a start reader, its encoder is used: the recipe's word vectors are not read.
    """
    files, train, held_out, dev, replayed = questions or read_split(recipe)
    trained_on = [*files.train, *files.replay]
    family = trainable_family(recipe.model.kind)
    settings: dict[str, Any] = {"kind": recipe.model.kind, "held_out": _contexts(held_out)}
    if recipe.data.share < 1.0 or recipe.data.folds:
        settings["train"] = _contexts(train)
    if replayed:
        settings["replayed"] = [example.id for example in train[-replayed:]]
    if recipe.data.columns or recipe.data.encoding:
        settings["files"] = (recipe.data.columns, recipe.data.encoding)
    if start is None:
        settings["encoder"] = family.encoder_settings(recipe)
        key = cache_key([*trained_on, *files.others], settings, family.fit_encoder)
        fitted = cached(key, lambda: family.fit_encoder(recipe, train).stored())
    else:
        fitted = start.scorer.encoder.stored()
        settings["encoder"] = fitted[1]
        key = cache_key(trained_on, settings, family.restore_encoder)
    encoder = family.restore_encoder(recipe, fitted)

    def encoded(name: str, examples: Sequence[Example], paths: list[Path]) -> Part:
        chosen = {"encoder": key, "part": name, "cut": encoder.cut()}
        key_of_rows = cache_key(paths, chosen, encoder.encode)
        stored = cached(key_of_rows, lambda: encoder.encode(examples).stored())
        return Part(examples, family.restore_rows(stored))

    calibration = [files.calibration] if files.calibration else []
    held_out_part = encoded("held-out", held_out, [*files.train, *calibration])
    return TrainingData(
        key=key,
        encoder=encoder,
        train=encoded("train", train, trained_on),
        held_out=held_out_part,
        dev=encoded("dev", dev, [files.dev]) if files.dev else held_out_part,
        replayed=replayed,
    )


def _without_fold(recipe: Recipe, examples: list[Example]) -> list[Example]:
    apart = contexts_in_fold(recipe.data, examples)
    return [example for example in examples if example.context not in apart]


def _split(
    recipe: Recipe, examples: list[Example], calibration: Path | None
) -> tuple[list[Example], list[Example]]:
    """The training questions, and the held-out ones on which the calibration is fitted."""
    if calibration:
        return examples, _examples_of(recipe, calibration, "data.calibration")
    held_out = held_out_contexts(examples, recipe.data.held_out, recipe.training.seed)
    train = [e for e in examples if e.context not in held_out]
    if not train:
        raise ReadletError("data.train: a single context; give at least two, as one is held out")
    return train, [e for e in examples if e.context in held_out]


def _share(train: list[Example], share: float, seed: int) -> list[Example]:
    """The questions of a share of the contexts; a larger share includes a smaller one."""
    contexts = _contexts(train)
    order = np.random.default_rng(seed).permutation(len(contexts))
    chosen = {contexts[int(i)] for i in order[: max(1, round(share * len(contexts)))]}
    return [example for example in train if example.context in chosen]


def _examples_of(recipe: Recipe, path: Path, field: str) -> list[Example]:
    columns, encoding = recipe.data.named_columns, recipe.data.encoding
    examples = read_questions(path, columns=columns, encoding=encoding)
    if not examples:
        raise bad_input(path, field, "no questions in this file", "name another")
    return examples


def _contexts(examples: Sequence[Example]) -> list[str]:
    return sorted({example.context for example in examples})


def held_out_contexts(examples: Sequence[Example], share: float, seed: int) -> set[str]:
    """Held-out contexts: whole contexts, so that no passage is in both parts.

    At most MAX_HELD_OUT questions (but one context at least): more are better used in training.
    """
    questions = Counter(example.context for example in examples)
    contexts = sorted(questions)
    count = max(1, round(share * len(contexts)))
    chosen: set[str] = set()
    total = 0
    for i in np.random.default_rng(seed).permutation(len(contexts))[:count]:
        total += questions[contexts[int(i)]]
        if chosen and total > MAX_HELD_OUT:
            break
        chosen.add(contexts[int(i)])
    return chosen
