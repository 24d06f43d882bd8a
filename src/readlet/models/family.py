"""The two interfaces between a kind of model and the rest of the package.

Reading: a `SpanScorer` turns Examples into rows and rows into scores, a `ClassScorer` does so with
Sentences; the rest is shared code in NumPy. Training: a `Family` defines how its kind is fitted,
built, trained and loaded.
Nothing here imports torch, so that a reader without torch can implement the same protocol.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from readlet.text.rows import AnyRows, Ints, Rows, Stored
from readlet.types import Example, Sentence

if TYPE_CHECKING:
    import torch

    from readlet.engine.optimiser import ParameterGroup
    from readlet.engine.step import BatchSource
    from readlet.models.torch_scorer import Teacher
    from readlet.recipe.recipe import Recipe, Training
    from readlet.text.labels import Labels
    from readlet.text.subwords import SentenceRows

Floats = NDArray[np.float32]
TaskName = Literal["spans", "classes"]
"""The task of a kind of model: answers as spans of a passage, or classes of texts."""


@dataclass(frozen=True)
class SpanScores:
    """Scores of the rows of a batch. Only `allowed` positions may be part of an answer."""

    start: Floats  # (B, L) score of each position as the first of the answer
    end: Floats  # (B, L) and as the last
    allowed: NDArray[np.bool_]  # (B, L)
    null: Floats | None  # (B, 2) scores of "no answer" as a start and as an end

    def null_of(self, row: int) -> tuple[float, float] | None:
        return None if self.null is None else (float(self.null[row, 0]), float(self.null[row, 1]))


class AnyEncoder(Protocol):
    """Text to rows of integers, for any task."""

    def encode(self, items: Sequence[Any], /) -> AnyRows: ...

    def stored(self) -> Stored:
        """The fitted vocabulary or tokenizer, for the cache."""
        ...

    def cut(self) -> dict[str, Any]:
        """The settings of windows or lengths, on which the rows depend too."""
        ...


class Encoder(AnyEncoder, Protocol):
    """Questions to rows: a vocabulary or a tokenizer, and the windows of long texts."""

    def encode(self, examples: Sequence[Example], /) -> Rows: ...


class TextEncoder(AnyEncoder, Protocol):
    """Texts to rows: a tokenizer, and the labels that were seen in training."""

    @property
    def labels(self) -> "Labels": ...

    @property
    def pairs(self) -> bool:
        """Whether every text has a second one."""
        ...

    def encode(self, sentences: Sequence[Sentence], /) -> "SentenceRows": ...


class Scorer(Protocol):
    """A model with its encoder: everything that depends on the kind of model."""

    @property
    def encoder(self) -> AnyEncoder: ...

    @property
    def parameters(self) -> int:
        """The number of trainable parameters."""
        ...

    def move_to(self, device: str) -> None: ...

    def save(self, folder: Path) -> list[str]:
        """Write its files (weights, vocabulary or tokenizer) and return their names."""
        ...

    def config(self) -> dict[str, Any]:
        """The settings that the family's `load` needs besides the files; part of `config.json`."""
        ...

    def facts(self) -> list[str]:
        """Lines for the model card."""
        ...


class SpanScorer(Scorer, Protocol):
    """The scorer of a reader."""

    @property
    def encoder(self) -> Encoder: ...

    @property
    def can_abstain(self) -> bool:
        """Whether it has scores for "no answer"."""
        ...

    @property
    def max_answer(self) -> int:
        """The longest answer, in token positions."""
        ...

    def scores(self, rows: Rows, batch_size: int) -> Iterator[tuple[Ints, SpanScores]]:
        """Row numbers (B,) and scores, batch by batch, in any order."""
        ...


class ClassScorer(Scorer, Protocol):
    """The scorer of a classifier."""

    @property
    def encoder(self) -> TextEncoder: ...

    @property
    def metrics(self) -> Sequence[str]:
        """The scores that its predictions get, the most important first."""
        ...

    def scores(self, rows: "SentenceRows", batch_size: int) -> Iterator[tuple[Ints, Floats]]:
        """Row numbers (B,), and scores of the classes (B, C) or standardised values (B, 1)."""
        ...


@dataclass(frozen=True)
class LayerView:
    """How the layers of an encoder contribute to the scores of one row, for all its tokens."""

    mix: str  # the name of the mix in the recipe
    tokens: tuple[str, ...]  # (T,) as the tokenizer writes them
    first: int  # index of the token that is the first position of the context
    null: int  # index of the token whose scores are those of "no answer"
    weights: Floats  # (N, T, 2) how much each layer counts for start and end
    # (N, T, 2) what each layer adds to the scores; None: they are not a sum over layers
    contributions: Floats | None
    scores: Floats  # (T, 2) scores of the span head for start and end
    normalised: bool  # NormSoftmax centres and scales these scores afterwards

    @property
    def are_mixed(self) -> bool:
        """Whether more than one layer counts."""
        return int(self.weights.any(axis=(1, 2)).sum()) > 1


@runtime_checkable
class LayeredScorer(Protocol):
    """A scorer whose scores come from several layers."""

    def layer_view(self, rows: Rows, row: int) -> LayerView: ...


class TrainableScorer(Scorer, Protocol):
    """A scorer whose weights can be trained."""

    @property
    def module(self) -> "torch.nn.Module":
        """All its parameters get a gradient; training changes no buffers.

        Checkpoints, averages and rollbacks cover parameters only.
        """
        ...

    def batches(self, rows: Any, batch_size: int, *, seed: int) -> "BatchSource": ...

    def groups(self, settings: "Training") -> "list[ParameterGroup]":
        """The trainable parameters with their learning rates and weight decay."""
        ...


class TrainableSpanScorer(TrainableScorer, SpanScorer, Protocol):
    def learner(
        self, rows: Rows, label_smoothing: float, teacher: "Teacher | None"
    ) -> "torch.nn.Module":
        """A module that turns a batch of these rows into a loss."""
        ...


class TrainableClassScorer(TrainableScorer, ClassScorer, Protocol):
    def learner(self, label_smoothing: float) -> "torch.nn.Module":
        """A module that turns a batch into a loss."""
        ...


class Family(ABC):
    """A kind of model. For inference, loading is enough."""

    @abstractmethod
    def load(self, folder: Path, config: dict[str, Any]) -> Scorer:
        """The scorer stored in a model's folder; `damage_of` reports damaged files.

        `config` is the content of its config.json.
        """


class TrainableFamily(Family):
    """A trainable kind of model: the part that does not depend on the task."""

    def check_recipe(self, recipe: "Recipe") -> None:
        """Check the files and models that the recipe names, before any data is read."""

    @abstractmethod
    def encoder_settings(self, recipe: "Recipe") -> dict[str, Any]:
        """All settings except `data` that `fit_encoder` and `restore_encoder` depend on.

        Runs that agree in them and in their data share one encoder.
        """

    @abstractmethod
    def fit_encoder(self, recipe: "Recipe", examples: Sequence[Any]) -> AnyEncoder:
        """Learn a vocabulary from the training examples, or load a tokenizer."""

    @abstractmethod
    def restore_encoder(self, recipe: "Recipe", stored: Stored) -> AnyEncoder: ...

    @abstractmethod
    def restore_rows(self, stored: Stored) -> AnyRows: ...

    def with_encoder_of(self, recipe: "Recipe", start: "Recipe") -> "Recipe":
        """The recipe of a model that was trained with the encoder of another model."""
        return recipe

    def compile_ahead(self, recipe: "Recipe", device: "torch.device", start: Scorer | None) -> bool:
        """On a GPU, compile what training will run, before the data is encoded; False: nothing.

        `start` is the scorer that training starts from.
        """
        return False

    def compile(self, scorer: TrainableScorer) -> None:
        """Use the programs that were compiled ahead."""


class SpanFamily(TrainableFamily):
    """A kind of reader."""

    def can_abstain(self, recipe: "Recipe") -> bool:
        """Whether the recipe lets the model learn to predict "no answer"."""
        return bool(getattr(recipe.model, "null_answer", True))

    @abstractmethod
    def build(self, recipe: "Recipe", encoder: Any, *, can_abstain: bool) -> TrainableSpanScorer:
        """A model with random initial weights, drawn from torch's generator."""


class ClassFamily(TrainableFamily):
    """A kind of classifier."""

    @abstractmethod
    def build(self, recipe: "Recipe", encoder: Any) -> TrainableClassScorer:
        """A model with random initial weights, drawn from torch's generator."""
