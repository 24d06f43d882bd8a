"""The data of a recipe: read, split into train, held-out and dev, and encoded.

Questions are divided by context, labelled texts by text, and both into folds by a digest of it.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel

from readlet.data import read_labelled, read_questions
from readlet.data.datasets import training_file, with_own_ids
from readlet.errors import ReadletError, bad_input
from readlet.inference.inputs import AnswerOptions
from readlet.inference.trained_model import TrainedModel
from readlet.models.classifier.recipe import ClassifierData
from readlet.models.kinds import trainable_family
from readlet.recipe.recipe import Data, Recipe, SpanData, fields_with, names_in
from readlet.storage.sections import SourceFile
from readlet.text.labels import (
    class_balance,
    class_numbers,
    label_values,
    require_classes,
    require_one_kind,
)
from readlet.text.rows import cache_key, cached
from readlet.types import Example, Sentence


def digest_of(text: str) -> int:
    """A number that depends on the text only: the same in every file, process and version."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8])


def part_of(context: str, folds: int) -> int:
    """The part of a context, 0 to folds - 1."""
    return digest_of(context) % folds


def texts_in_fold(data: Data, texts: Iterable[str]) -> set[str]:
    """The texts of the part that a model with these settings is not trained on."""
    if not data.folds:
        return set()
    return {text for text in {*texts} if part_of(text, data.folds) == data.fold}


MAX_HELD_OUT = 2000  # more change at most the second digit of the temperature


class Questions:
    """The questions of a context stay together, so that no passage is in two parts."""

    noun, group_noun = "questions", "context"

    def depends_on_seed(self, data: Data) -> bool:
        """Whether the parts differ between seeds."""
        return True

    def read(self, data: Data, *paths: Path) -> list[Example]:
        assert isinstance(data, SpanData)
        examples = read_questions(*paths, data_format=data.data_format)
        languages = AnswerOptions(language=data.language, question_language=data.question_language)
        return [languages.in_languages(example) for example in examples]

    def group(self, item: Example) -> str:
        return item.context

    def held_out(self, items: Sequence[Example], share: float, seed: int) -> set[str]:
        """The contexts to hold out: of at most MAX_HELD_OUT questions, at least one."""
        questions = Counter(example.context for example in items)
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

    def shared(self, items: Sequence[Example], share: float, seed: int) -> set[str]:
        """A share of the contexts; a larger share includes a smaller one."""
        contexts = sorted({example.context for example in items})
        order = np.random.default_rng(seed).permutation(len(contexts))
        return {contexts[int(i)] for i in order[: max(1, round(share * len(contexts)))]}

    def check(
        self, data: Data, train: Sequence[Example], parts: dict[Path, Sequence[Example]]
    ) -> None:
        """Questions are checked when they are read."""


class LabelledTexts:
    """Texts are divided class by class, so that every class is learned.

    Held-out texts follow from a digest of the text: they are the same for all seeds.
    """

    noun, group_noun = "texts", "text"

    def __init__(self, labels: Literal["classes", "numbers"]) -> None:
        self.labels = labels

    def depends_on_seed(self, data: Data) -> bool:
        return data.share < 1.0 or bool(data.replay)

    def read(self, data: Data, *paths: Path) -> list[Sentence]:
        return read_labelled(*paths, data_format=data.data_format)

    def group(self, item: Sentence) -> str:
        return item.text if item.second is None else f"{item.text}\t{item.second}"

    def held_out(self, items: Sequence[Sentence], share: float, seed: int) -> set[str]:
        order = self._by_class(items, digest_of)
        share = min(share, MAX_HELD_OUT / max(len(items), 1))
        chosen = {text for texts in order.values() for text in texts[: round(share * len(texts))]}
        largest = max(order.values(), key=len)
        return chosen or set(largest[: min(1, len(largest) - 1)])

    def shared(self, items: Sequence[Sentence], share: float, seed: int) -> set[str]:
        order = self._by_class(items, lambda text: digest_of(f"{seed}\t{text}"))
        return {
            text for texts in order.values() for text in texts[: max(1, round(share * len(texts)))]
        }

    def check(
        self, data: Data, train: Sequence[Sentence], parts: dict[Path, Sequence[Sentence]]
    ) -> None:
        """Reject labels that cannot be learned, or that `parts` have and training has not."""
        source = data.train[0] if len(data.train) == 1 else "data.train"
        is_pair = train[0].second is not None
        require_one_kind("data.replay" if data.replay else source, train, pairs=is_pair)
        for path, sentences in parts.items():
            require_one_kind(path, sentences, pairs=is_pair)
        if self.labels == "numbers":
            label_values(source, train)
            for path, sentences in parts.items():
                label_values(path, sentences)
            return
        require_classes(source, balance := class_balance(train))
        if isinstance(data, ClassifierData) and "f1" in data.metrics and len(balance.counts) != 2:
            fault = f"f1 is that of the second of two classes, and there are {len(balance.counts)}"
            raise ReadletError(f"data.metrics: {fault}; take macro_f1")
        for path, sentences in parts.items():
            class_numbers(path, sentences, list(balance.counts))

    def _by_class(
        self, items: Sequence[Sentence], rank: Callable[[str], int]
    ) -> dict[str | None, list[str]]:
        """The distinct texts of each class by rank; one with two labels counts to its first."""
        first: dict[str, str | None] = {}
        for sentence in items:
            label = sentence.label if self.labels == "classes" else None
            first.setdefault(self.group(sentence), label)
        found: defaultdict[str | None, list[str]] = defaultdict(list)
        for text, label in first.items():
            found[label].append(text)
        return {label: sorted(texts, key=rank) for label, texts in found.items()}


Items = Questions | LabelledTexts


def items_of(recipe: Recipe) -> Items:
    """The items that a recipe's kind of model is trained on."""
    data = recipe.data
    return LabelledTexts(data.labels) if isinstance(data, ClassifierData) else Questions()


class Part(NamedTuple):
    """Examples and their rows; their types depend on the task."""

    examples: Sequence[Any]
    rows: Any


@dataclass(frozen=True)
class Fitted:
    """A trained model on dev, calibrated on the held-out items."""

    calibration: BaseModel
    predictions: list[Any]  # as the task scores them
    metrics: dict[str, Any]  # more than the scores
    fault: str  # why the calibration was not fitted; empty if it was


@dataclass(frozen=True)
class TrainingData:
    """The items of a recipe in their three parts, encoded."""

    key: str  # digest of everything that determines the training rows
    encoder: Any
    train: Part
    held_out: Part
    dev: Part
    replayed: int = 0  # of the training items, those of data.replay, the last ones

    def notes(self, *reasons: str) -> dict[str, list[str]]:
        """The ids of changed or skipped items by reason; on other parts only for `reasons`, if any.

        Dev and the held-out items are not trained on: notes on their answers do not matter.
        """
        notes = dict(self.train.rows.notes)
        others = {"dev": self.dev.rows}
        if self.held_out.rows is not self.dev.rows:
            others["calibration"] = self.held_out.rows
        for part, rows in others.items():
            for reason, ids in rows.notes.items():
                if not reasons or reason in reasons:
                    notes[f"{part}: {reason}"] = ids
        return notes


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
    examples: list[Any] = items.read(data, *files.train)
    if not examples:
        raise ReadletError(f"data.train: no {items.noun} in these files; name others")
    if not (examples := _without_fold(recipe, items, examples)):
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
        # At most as many as the user's own: they prevent forgetting, and must not dominate.
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

    data = recipe.data
    settings: dict[str, Any] = {
        "kind": recipe.model.kind,
        "held_out": groups(held_out),
        "replayed": [example.id for example in train[len(train) - replayed :]],
        "files": (data.columns, data.encoding),
        "labels": getattr(data, "labels", ""),
        "languages": (getattr(data, "language", ""), getattr(data, "question_language", "")),
    }
    if data.share < 1.0 or data.folds:
        settings["train"] = groups(train)
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
    if not (examples := items.read(recipe.data, path)):
        raise bad_input(path, field, f"no {items.noun} in this file", "name another")
    return examples
