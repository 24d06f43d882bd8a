"""The bases of scorers with a torch module: batches in, NumPy scores out, weights on disk."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import nn

from readlet.engine.optimiser import ParameterGroup, one_group
from readlet.errors import bad_input, memory_reported
from readlet.families.eager import eagerly
from readlet.families.family import AnyEncoder, Encoder, SpanScores
from readlet.families.onnx_model import WEIGHTS
from readlet.models.span_loss import SpanLearner, Teacher
from readlet.models.span_scores import SpanLogits
from readlet.nn.normsoftmax.loss import highest_confidence, warn_of_bound
from readlet.recipe.recipe import Training
from readlet.storage.corruption import damage_of
from readlet.storage.tensors import (
    detached,
    in_precision,
    load_tensors,
    refuse_non_finite,
    save_tensors,
)
from readlet.text.arrays import Batches
from readlet.text.rows import AnyRows, Ints, Rows
from readlet.text.tensors import RowBatch

StoredAs = Literal["float32", "float16", "int8"]
"""The dtype of the weights on disk; int8: that of matrices (`pretrained_parts.py`)."""
_SMALLER = "load the reader with a smaller batch_size, or free some memory"


@dataclass
class ModuleScorer(ABC):
    """A module with its encoder, for any task. A subclass defines how rows become batches."""

    module: nn.Module
    encoder: AnyEncoder

    @abstractmethod
    def batches(self, rows: Any, batch_size: int, *, seed: int = 0) -> Batches[Any]: ...

    def scoring(self, rows: Any) -> Callable[[Any], Any]:
        """The module for inference: here, work that all batches share can be done once."""
        return self.module

    def outputs(self, rows: AnyRows, batch_size: int) -> Iterator[tuple[Ints, Any]]:
        """Row numbers (B,) and what the module returns for them, batch by batch."""
        batches = self.batches(rows, min(batch_size, max(len(rows), 1)))
        self.module.eval()
        score = self.scoring(rows)
        for shape, numbers in batches.in_order():
            with memory_reported(_SMALLER), torch.inference_mode(), eagerly():
                batch: RowBatch = batches.make(shape, numbers, filled=False).to(self.device)
                found = score(batch)
            yield numbers, found

    def groups(self, settings: Training) -> list[ParameterGroup]:
        return one_group(self.module.parameters())

    @property
    def device(self) -> torch.device:
        return next(self.module.parameters()).device

    @property
    def parameters(self) -> int:
        return count_parameters(self.module)

    def move_to(self, device: str) -> None:
        self.module.to(device)

    def save(self, folder: Path) -> list[str]:
        save_tensors(folder / WEIGHTS, detached(dict(self.module.state_dict())))
        return [WEIGHTS]

    def load_weights(self, folder: Path) -> None:
        with damage_of(folder / WEIGHTS):
            weights = load_tensors(folder / WEIGHTS)
            refuse_non_finite(weights)
            self.module.load_state_dict(weights)

    def config(self) -> dict[str, Any]:
        return {}

    def facts(self) -> list[str]:
        return []


@dataclass
class TorchScorer(ModuleScorer):
    """A reader's module with its encoder."""

    encoder: Encoder
    max_answer: int
    can_refuse: bool

    def over(self, rows: Rows) -> nn.Module:
        """The module for batches of these rows: a batch in, `SpanLogits` out."""
        return self.module

    def scoring(self, rows: Rows) -> Callable[[Any], SpanLogits]:
        return self.over(rows).to(self.device)

    def learner(self, rows: Rows, label_smoothing: float, teacher: Teacher | None) -> SpanLearner:
        return SpanLearner(self.over(rows), label_smoothing, teacher)

    def scores(self, rows: Rows, batch_size: int) -> Iterator[tuple[Ints, SpanScores]]:
        for numbers, found in self.outputs(rows, batch_size):
            yield numbers, _as_numpy(found)

    def config(self) -> dict[str, Any]:
        return {"null_answer": self.can_refuse}


def in_half_precision(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Copies rounded to float16; a value beyond its range is refused."""
    rounded = in_precision(torch.float16, detached(weights))
    for name, tensor in rounded.items():
        if not torch.isfinite(tensor).all():
            fault = "has a value too large for half precision, so it cannot be slimmed"
            raise bad_input(name, "", fault, "train the model again")
    return rounded


def _as_numpy(found: SpanLogits) -> SpanScores:
    start, end = (side.float().cpu().numpy() for side in (found.start, found.end))  # (B, L)
    null = None if found.null is None else found.null.float().cpu().numpy()  # (B, 2)
    return SpanScores(start, end, found.allowed.cpu().numpy(), null)


def stored_settings(config: dict[str, Any]) -> tuple[bool, StoredAs]:
    """Whether a stored reader can refuse, and the dtype of its weights; ValueError if damaged."""
    null = config["null_answer"]
    if not isinstance(null, bool):
        raise ValueError(f"null_answer: {null!r:.40} is neither true nor false")
    return null, stored_as(config)


def stored_as(config: dict[str, Any]) -> StoredAs:
    """The dtype of stored weights; ValueError if damaged."""
    stored: StoredAs = config.get("stored", "float32")
    if stored not in get_args(StoredAs):
        raise ValueError(f"weights stored as {stored!r:.40}")
    return stored


def warn_of_short_windows(rows: Rows, *, can_refuse: bool) -> None:
    """NormSoftmax in the loss, without a cap, bounds the confidence in windows of few places."""
    lengths = np.unique(rows.row_window[:, 1])
    places = [int(length) + can_refuse for length in lengths if length > 0]
    lowest = min(places, key=highest_confidence, default=1)
    warn_of_bound(lowest, "places (a short window)", "loss.gamma")


def count_parameters(module: nn.Module) -> int:
    """Trainable parameters only: frozen word vectors do not count."""
    return sum(p.numel() for p in module.parameters() if p.requires_grad)
