"""The interface of a task in training: build, evaluate, calibrate and save a model."""

from dataclasses import dataclass
from typing import Any, Protocol, cast

import torch
from pydantic import BaseModel
from torch import Tensor, nn

from readlet.engine.weight_selection import Scores
from readlet.errors import bad_input
from readlet.evaluation.task import Task
from readlet.inference.trained_model import TrainedModel
from readlet.models.family import TrainableScorer
from readlet.training.training_data import Part, TrainingData


@dataclass(frozen=True)
class Fitted:
    """A trained model on dev, calibrated on the held-out items."""

    calibration: BaseModel
    predictions: list[Any]  # as the task scores them
    metrics: dict[str, Any]  # more than the scores
    fault: str  # why the calibration was not fitted; empty if it was


class TaskEvaluator(Protocol):
    """Scores the current weights on dev, during and after training."""

    @property
    def task(self) -> Task: ...

    def __call__(self) -> Scores: ...

    def fitted(self, held_out: Part) -> Fitted: ...

    def of_start(self, start: Any) -> "TaskEvaluator":
        """The same for the model that training starts from."""
        ...

    def model(
        self, recipe: Any, calibration: Any, metrics: dict[str, Any], notice: str
    ) -> TrainedModel: ...


class Objective(Protocol):
    """A task in training, for one recipe and the model that it starts from."""

    def load_teachers(self) -> None:
        """Load the models involved, so that their errors come before any slow work."""
        ...

    def build(self, data: TrainingData) -> TrainableScorer:
        """The model to train; its random weights are drawn from torch's generator."""
        ...

    def notes(self, data: TrainingData, scorer: Any) -> dict[str, list[str]]:
        """The ids of changed or skipped items by reason."""
        ...

    def report(self, data: TrainingData, scorer: Any) -> None:
        """Print what to know about the data before training."""
        ...

    def learner(self, data: TrainingData, scorer: Any, device: torch.device) -> nn.Module: ...

    def evaluator(self, data: TrainingData, scorer: Any, batch_size: int) -> TaskEvaluator: ...


def copy_weights(start: TrainedModel, scorer: TrainableScorer, *, strict: bool = True) -> None:
    """Copy the weights of the start; `strict`: it must have the same parameters."""
    before = module_of(start).state_dict()
    loaded = scorer.module.load_state_dict(before, strict=False)
    other = [*loaded.missing_keys, *loaded.unexpected_keys]
    if other and strict:
        fault = f"that reader has other parameters ({other[0]})"
        raise bad_input(start.name, "training.start", fault, "give another reader")


def module_of(start: TrainedModel) -> nn.Module:
    return cast(TrainableScorer, start.scorer).module


def weights_of(start: TrainedModel, scorer: TrainableScorer) -> dict[str, Tensor]:
    """The initial weights that come from the start."""
    known = module_of(start).state_dict().keys()
    named = scorer.module.named_parameters()
    return {name: weight.detach().clone() for name, weight in named if name in known}


@torch.no_grad()
def mix_in(module: nn.Module, before: dict[str, Tensor], share: float) -> None:
    """Interpolate between the weights before and after fine-tuning (Wortsman et al. 2022, WiSE-FT).

    `share` is the weight of those before: the model learns less, but forgets less.
    """
    after = dict(module.named_parameters())
    for name, weight in before.items():
        after[name].lerp_(weight.to(after[name].device), share)
