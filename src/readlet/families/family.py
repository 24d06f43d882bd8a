"""The two seams between a kind of model and the rest of the house.

Reading: a `SpanScorer` turns Examples into rows and rows into scores; everything after is shared,
and is NumPy. Training: a `Family` says how its kind is fitted, built, trained and loaded.
Nothing here imports torch, so that a reader without it can stand behind the same protocol.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from readlet.encoding.cache import Stored
from readlet.encoding.rows import Ints, Rows
from readlet.recipe.recipe import Recipe
from readlet.types import Example

if TYPE_CHECKING:
    import torch

    from readlet.models.span_loss import Teacher
    from readlet.training.batches import BatchSource

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class SpanScores:
    """Scores of the rows of a batch. A place may be padding, or part of no answer: `allowed`."""

    start: Floats  # (B, L) score of each place as the first of the answer
    end: Floats  # (B, L) and as the last
    allowed: NDArray[np.bool_]  # (B, L)
    null: Floats | None  # (B, 2) scores of "no answer" as a start and as an end


class Encoder(Protocol):
    """Text to rows of integers: a vocabulary or a tokenizer, and how long texts are cut."""

    def encode(self, examples: Sequence[Example]) -> Rows: ...

    def stored(self) -> Stored:
        """What was fitted, for the cache."""
        ...

    def cut(self) -> dict[str, Any]:
        """How texts are cut: what rows depend on besides."""
        ...


class SpanScorer(Protocol):
    """A model with its encoder: all that a reader needs of its kind."""

    @property
    def encoder(self) -> Encoder: ...

    @property
    def can_refuse(self) -> bool:
        """Whether it has scores for "no answer"."""
        ...

    @property
    def max_answer(self) -> int:
        """The longest answer, in places."""
        ...

    @property
    def parameters(self) -> int:
        """Trainable numbers."""
        ...

    def scores(self, rows: Rows, batch_size: int) -> Iterator[tuple[Ints, SpanScores]]:
        """Row numbers (B,) and scores of one batch after the other, in any order."""
        ...

    def move_to(self, device: str) -> None: ...

    def save(self, folder: Path) -> list[str]:
        """Write its own files: weights, vocabulary or tokenizer. Their names."""
        ...

    def config(self) -> dict[str, Any]:
        """What its family's `load` needs besides recipe and files; a part of `config.json`."""
        ...

    def facts(self) -> list[str]:
        """Lines for the model card."""
        ...


class TrainableScorer(SpanScorer, Protocol):
    """A scorer whose weights can be trained."""

    @property
    def module(self) -> "torch.nn.Module": ...

    def learner(
        self, rows: Rows, label_smoothing: float, teacher: "Teacher | None"
    ) -> "torch.nn.Module":
        """A module that turns a batch of these rows into a loss."""
        ...

    def batches(self, rows: Rows, batch_size: int, *, seed: int) -> "BatchSource": ...


class Family(ABC):
    """One kind of model."""

    def can_refuse(self, recipe: Recipe) -> bool:
        """Whether the recipe lets the model say that there is no answer, if it can learn that."""
        return True

    @abstractmethod
    def encoder_settings(self, recipe: Recipe) -> dict[str, Any]:
        """What `fit_encoder` depends on, besides the examples and the content of files."""

    @abstractmethod
    def fit_encoder(self, recipe: Recipe, examples: Sequence[Example]) -> Encoder:
        """Learn a vocabulary from the training examples, or load a tokenizer."""

    @abstractmethod
    def restore_encoder(self, recipe: Recipe, stored: Stored) -> Encoder: ...

    @abstractmethod
    def restore_rows(self, stored: Stored) -> Rows: ...

    def with_encoder_of(self, recipe: Recipe, start: Recipe) -> Recipe:
        """The recipe of a reader that was trained with the encoder of another one."""
        return recipe

    @abstractmethod
    def build(self, recipe: Recipe, encoder: Encoder, *, can_refuse: bool) -> TrainableScorer:
        """A model with fresh weights, drawn from torch's generator."""

    @abstractmethod
    def load(self, folder: Path, recipe: Recipe, config: dict[str, Any]) -> SpanScorer:
        """The scorer whose files lie in a reader's folder; `damage_of` reports what is wrong."""

    def compile_ahead(self, recipe: Recipe, device: "torch.device") -> bool:
        """On a GPU, compile what training will run, before the data are there; False: nothing."""
        return False

    def compile(self, scorer: TrainableScorer) -> None:  # noqa: B027  most have nothing to do
        """Use what was compiled ahead."""

    def check(self, recipe: Recipe, rows: Rows, *, can_refuse: bool) -> None:  # noqa: B027
        """Warn of what this kind of model will not do well with these rows."""
