"""The weights that are kept: their moving average (EMA), and the best by evaluation."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from accelerate import Accelerator
from safetensors.torch import load_file
from torch import Tensor, nn

from readlet.engine.checkpoint import Progress
from readlet.engine.processes import in_main
from readlet.errors import FailedTrainingError
from readlet.storage.stored_files import detached, save_tensors

BEST = "best.safetensors"
Scores = dict[str, float]


class Average:
    """shadow = d * shadow + (1 - d) * weight, with d = min(decay, (1 + t) / (10 + t)).

    With the warm-up of the decay, the first steps are forgotten quickly. With a decay of 0 there is
    no shadow: the weights themselves are kept.
    """

    def __init__(self, parameters: dict[str, nn.Parameter], decay: float) -> None:
        self.decay = decay
        self._parameters: dict[str, Tensor] = {**parameters}
        averaged = parameters if decay else {}
        self.shadow = {name: p.detach().clone() for name, p in averaged.items()}

    def rate(self, step: int) -> float:
        """1 - d at this step: how far the average moves towards the weights."""
        return 1.0 - min(self.decay, (1 + step) / (10 + step))

    def weights(self) -> dict[str, Tensor]:
        """The weights that are kept."""
        return self.shadow if self.decay else self._parameters

    @torch.no_grad()
    def update(self, rate: Tensor) -> None:
        """shadow += rate * (weight - shadow); `rate` is a tensor, for capture in a CUDA graph."""
        if not self.decay:
            return
        shadow = list(self.shadow.values())
        difference = torch._foreach_sub(list(self._parameters.values()), shadow)
        torch._foreach_mul_(difference, rate)
        torch._foreach_add_(shadow, difference)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Inside the `with`, the model has the averaged weights; afterwards its own again."""
        if not self.decay:
            yield
            return
        own = [weight.detach().clone() for weight in self._parameters.values()]
        self._copy(list(self.shadow.values()))
        try:
            yield
        finally:
            self._copy(own)

    @torch.no_grad()
    def _copy(self, values: list[Tensor]) -> None:
        torch._foreach_copy_(list(self._parameters.values()), values)


@dataclass(frozen=True)
class Evaluator:
    """How the current weights are scored. The engine does not know the metrics."""

    scores: Callable[[float], Scores]  # called with the epoch
    decisive: str  # the score that decides which evaluation is best: higher is better
    summary: Callable[[Scores], str]  # the scores as text for the user


@dataclass(frozen=True)
class WeightSelection:
    """Runs the evaluator. With patience, saves the best weights and may stop training early."""

    evaluator: Evaluator
    module: nn.Module
    average: Average
    accelerator: Accelerator
    folder: Path
    patience: int

    def scores(self, epoch: float) -> Scores:
        """Scores of the averaged weights; empty except in the main process."""
        if not self.accelerator.is_main_process:
            return {}
        self.module.eval()
        with self.average.applied(), torch.no_grad():
            return self.evaluator.scores(epoch)

    def summary(self, scores: Scores) -> str:
        return self.evaluator.summary(scores)

    def compare(self, scores: Scores, progress: Progress) -> None:
        """Record whether these scores are the best so far, and save their weights."""
        own = scores[self.evaluator.decisive] if scores else 0.0
        decisive = torch.tensor(own, device=self.accelerator.device)  # ()
        score = float(self.accelerator.reduce(decisive, "sum"))  # only the main process has one
        if not math.isfinite(score):
            fault = f"evaluation gave {self.evaluator.decisive} {score}"
            raise FailedTrainingError(f"{fault}; lower training.learning_rate")
        if progress.best_score is not None and score <= progress.best_score:
            progress.evaluations_since_best += 1
            return
        progress.best_score, progress.evaluations_since_best = score, 0
        progress.best_step = progress.step
        if self.patience:
            in_main(self.accelerator, self._save_best)

    def is_exhausted(self, progress: Progress) -> bool:
        """Whether the last evaluations brought no improvement."""
        return bool(self.patience) and progress.evaluations_since_best >= self.patience

    def final_weights(self) -> dict[str, Tensor]:
        """The averaged weights; with patience, those of the best evaluation."""
        return load_file(self.folder / BEST) if self.patience else self.average.weights()

    def _save_best(self) -> None:
        weights = detached(self.average.weights())
        save_tensors(self.folder / BEST, weights)
