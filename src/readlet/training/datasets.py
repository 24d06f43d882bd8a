"""Folds: contexts divided into parts by their text, so that a reader has a part it never saw.

How the items of a task are read and divided: questions by context, labelled texts by text.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from readlet.data import read_labelled, read_questions
from readlet.data.datasets import require_one_kind
from readlet.errors import ReadletError
from readlet.inference.inputs import AnswerOptions
from readlet.models.classifier.recipe import ClassifierData
from readlet.recipe.recipe import Data, Recipe, SpanData
from readlet.text.labels import class_balance, class_numbers, label_values, require_classes
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


def contexts_in_fold(data: Data, examples: Iterable[Example]) -> set[str]:
    """The contexts of that part."""
    return texts_in_fold(data, (example.context for example in examples))


# More items change the second digit of the temperature at most, and cost memory.
MAX_HELD_OUT = 2000


class Items(Protocol):
    """Items that belong together, such as the questions of a context, have the same group."""

    noun: str  # plural name of the items
    group_noun: str  # name of what they are divided by

    def depends_on_seed(self, data: Data) -> bool:
        """Whether the parts differ between seeds."""
        ...

    def read(self, data: Data, *paths: Path) -> list[Any]: ...

    def group(self, item: Any) -> str: ...

    def held_out(self, items: Sequence[Any], share: float, seed: int) -> set[str]:
        """The groups to hold out of training."""
        ...

    def shared(self, items: Sequence[Any], share: float, seed: int) -> set[str]:
        """A share of the groups; a larger share includes a smaller one."""
        ...

    def check(self, data: Data, train: Sequence[Any], parts: dict[Path, Sequence[Any]]) -> None:
        """Raise an error about labels that cannot be learned, or of `parts` that were not."""
        ...


class Questions:
    """The questions of a context stay together, so that no passage is in two parts."""

    noun, group_noun = "questions", "context"

    def depends_on_seed(self, data: Data) -> bool:
        return True

    def read(self, data: Data, *paths: Path) -> list[Example]:
        assert isinstance(data, SpanData)
        examples = read_questions(*paths, data_format=data.data_format)
        languages = AnswerOptions(language=data.language, question_language=data.question_language)
        return [languages.in_languages(example) for example in examples]

    def group(self, item: Example) -> str:
        return item.context

    def held_out(self, items: Sequence[Example], share: float, seed: int) -> set[str]:
        return held_out_contexts(items, share, seed)

    def shared(self, items: Sequence[Example], share: float, seed: int) -> set[str]:
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
        balance = class_balance(train)
        require_classes(source, balance)
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


def items_of(recipe: Recipe) -> Items:
    """The items that a recipe's kind of model is trained on."""
    data = recipe.data
    return LabelledTexts(data.labels) if isinstance(data, ClassifierData) else Questions()


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
