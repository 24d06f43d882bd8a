"""The data of a recipe: read, split into train, held-out and dev, and encoded.

As a program it encodes the data of the recipe on its standard input into the cache.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from readlet.data.datasets import training_file, with_own_ids
from readlet.errors import ReadletError, bad_input
from readlet.inference.trained_model import TrainedModel
from readlet.models.classifier.recipe import ClassifierData
from readlet.models.kinds import trainable_family
from readlet.processes import own_command
from readlet.recipe.recipe import Recipe, SpanData, fields_with, names_in
from readlet.storage.sections import SourceFile
from readlet.text.rows import cache_key, cached
from readlet.training.datasets import Items, items_of, texts_in_fold


class Part(NamedTuple):
    """Examples and their rows; of which types, depends on the task."""

    examples: Sequence[Any]
    rows: Any


@dataclass(frozen=True)
class TrainingData:
    """The items of a recipe in their three parts, encoded."""

    key: str  # digest of everything that determines the training rows
    encoder: Any
    train: Part
    held_out: Part
    dev: Part
    replayed: int = 0  # of the training items, those of data.replay, the last ones


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
        """All fields that `prepare` reads; the seed draws held-out questions and shares."""
        kind, training = recipe.model.kind, recipe.training
        # With a start reader its encoder is used; that of the recipe may not even be there.
        settings = {} if training.start else trainable_family(kind).encoder_settings(recipe)
        seed = training.seed if items_of(recipe).depends_on_seed(recipe.data) else None
        return repr((kind, recipe.data, settings, training.start, seed))


class DataFiles(NamedTuple):
    train: list[Path]
    replay: list[Path]
    dev: Path | None
    calibration: Path | None
    others: list[Path]  # of the encoder: word vectors


class SplitItems(NamedTuple):
    """The items of a recipe, before they are encoded."""

    files: DataFiles
    train: list[Any]
    held_out: list[Any]
    dev: list[Any]
    replayed: int  # of the training items, those of data.replay, the last ones


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


def read_split(recipe: Recipe) -> SplitItems:
    """Read and split the items: errors in them are reported before any slow work."""
    files, items, data = data_files(recipe), items_of(recipe), recipe.data
    examples = items.read(data, *files.train)
    if not examples:
        raise ReadletError(f"data.train: no {items.noun} in these files; name others")
    examples = _without_fold(recipe, items, examples)
    if not examples:
        fault = f"all training {items.group_noun}s are in this part"
        raise ReadletError(f"data.fold: {fault}; name another part")
    train, held_out = _split(recipe, items, examples, files.calibration)
    chosen = items.shared(train, data.share, recipe.training.seed)
    train = [example for example in train if items.group(example) in chosen]
    dev = _read_part(recipe, items, files.dev, "data.dev") if files.dev else held_out
    own = len(train)
    if files.replay:
        more = _without_fold(recipe, items, items.read(data, *files.replay))
        apart = {items.group(example) for example in (*held_out, *dev)}
        more = [example for example in more if items.group(example) not in apart]
        # As many as one's own at most: they are to be remembered, not to take over.
        drawn = np.random.default_rng(recipe.training.seed).permutation(len(more))[:own]
        train = with_own_ids([*train, *(more[i] for i in sorted(drawn.tolist()))])
    named = {files.calibration or files.train[0]: held_out, files.dev: dev}
    items.check(data, train, {path: part for path, part in named.items() if path is not None})
    return SplitItems(files, train, held_out, dev, len(train) - own)


def prepare(
    recipe: Recipe, start: TrainedModel | None = None, split: SplitItems | None = None
) -> TrainingData:
    """Read and encode all data of a recipe; the slow parts are cached.

    With a start, its encoder is used: the recipe's word vectors are not read.
    """
    files, train, held_out, dev, replayed = split or read_split(recipe)
    trained_on = [*files.train, *files.replay]
    family, items = trainable_family(recipe.model.kind), items_of(recipe)

    def groups(examples: Sequence[Any]) -> list[str]:
        return sorted({items.group(example) for example in examples})

    settings: dict[str, Any] = {"kind": recipe.model.kind, "held_out": groups(held_out)}
    if recipe.data.share < 1.0 or recipe.data.folds:
        settings["train"] = groups(train)
    if isinstance(recipe.data, ClassifierData):
        settings["labels"] = recipe.data.labels
    if replayed:
        settings["replayed"] = [example.id for example in train[-replayed:]]
    if recipe.data.columns or recipe.data.encoding:
        settings["files"] = (recipe.data.columns, recipe.data.encoding)
    if isinstance(recipe.data, SpanData):
        languages = {"context": recipe.data.language, "question": recipe.data.question_language}
        settings |= {f"language of {text}": code for text, code in languages.items() if code}
    if start is None:
        settings["encoder"] = family.encoder_settings(recipe)
        key = cache_key([*trained_on, *files.others], settings, family.fit_encoder)
        fitted = cached(key, lambda: family.fit_encoder(recipe, train).stored())
    else:
        fitted = start.scorer.encoder.stored()
        settings["encoder"] = fitted[1]
        key = cache_key(trained_on, settings, family.restore_encoder)
    encoder = family.restore_encoder(recipe, fitted)

    def encoded(name: str, examples: Sequence[Any], paths: list[Path]) -> Part:
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


def _without_fold(recipe: Recipe, items: Items, examples: list[Any]) -> list[Any]:
    apart = texts_in_fold(recipe.data, map(items.group, examples))
    return [example for example in examples if items.group(example) not in apart]


def _split(
    recipe: Recipe, items: Items, examples: list[Any], calibration: Path | None
) -> tuple[list[Any], list[Any]]:
    """The training items, and the held-out ones on which the calibration is fitted."""
    if calibration:
        return examples, _read_part(recipe, items, calibration, "data.calibration")
    held_out = items.held_out(examples, recipe.data.held_out, recipe.training.seed)
    train = [example for example in examples if items.group(example) not in held_out]
    if not train or len(train) == len(examples):
        fault = f"a single {items.group_noun}; give at least two, as one is held out"
        raise ReadletError(f"data.train: {fault}")
    return train, [example for example in examples if items.group(example) in held_out]


def _read_part(recipe: Recipe, items: Items, path: Path, field: str) -> list[Any]:
    examples = items.read(recipe.data, path)
    if not examples:
        raise bad_input(path, field, f"no {items.noun} in this file", "name another")
    return examples


@contextmanager
def encoding_in_background(recipe: Recipe) -> Iterator[None]:
    """Another process encodes the data into the cache; wait for it at the end.

    On a GPU this one compiles meanwhile: both take half a minute of one core. If the
    helper fails, `prepare` does the work itself and reports the error.
    """
    command, null = own_command("readlet.training.training_data"), subprocess.DEVNULL
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=null, stderr=null) as helper:
        try:
            with suppress(BrokenPipeError):  # it has died already
                helper.stdin.write(recipe.model_dump_json().encode())  # type: ignore[union-attr]
                helper.stdin.close()  # type: ignore[union-attr]
            yield
        except BaseException:
            helper.kill()
            raise


def _main() -> None:
    from readlet.models.recipe_files import parse_recipe
    from readlet.training.warm_start import load_start

    given = parse_recipe(json.loads(sys.stdin.buffer.read()), "standard input")
    start, recipe = load_start(given)
    prepare(recipe, start)


if __name__ == "__main__":
    _main()
