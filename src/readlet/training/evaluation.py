"""Evaluation during training: of the averaged weights, and the best of them kept."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from accelerate import Accelerator
from safetensors.torch import load_file
from torch import Tensor, nn

from readlet.errors import FailedTrainingError
from readlet.storage.tensors import detached, save_tensors
from readlet.training.average import Average
from readlet.training.checkpoint import Progress
from readlet.training.processes import in_main

Scores = dict[str, float]


@dataclass(frozen=True)
class Exam:
    """How weights are judged: what is measured is not the engine's to know."""

    scores: Callable[[float], Scores]  # asked at an epoch
    decisive: str  # the score by which one evaluation is better than another: the higher the better
    summary: Callable[[Scores], str]  # what the user reads of them


class Evaluation:
    """Holds the exam. With patience, the best weights go to a file, and training may stop early."""

    def __init__(
        self,
        exam: Exam,
        module: nn.Module,
        average: Average,
        accelerator: Accelerator,
        folder: Path,
        *,
        patience: int,
        how_to_resume: str,
    ) -> None:
        self._exam = exam
        self._module = module
        self._average = average
        self._accelerator = accelerator
        self._best = folder / "best.safetensors"
        self._patience = patience
        self._how_to_resume = how_to_resume

    def scores(self, epoch: float) -> Scores:
        """Scores of the averaged weights; none in other processes than the main one."""
        if not self._accelerator.is_main_process:
            return {}
        self._module.eval()
        with self._average.applied(), torch.no_grad():
            return self._exam.scores(epoch)

    def summary(self, scores: Scores) -> str:
        return self._exam.summary(scores)

    def compare(self, scores: Scores, progress: Progress) -> None:
        """Note whether these scores are the best so far, and keep their weights."""
        own = scores[self._exam.decisive] if scores else 0.0
        decisive = torch.tensor(own, device=self._accelerator.device)  # ()
        score = float(self._accelerator.reduce(decisive, "sum"))  # only the main process has one
        if not math.isfinite(score):
            remedy = "lower training.learning_rate"
            raise FailedTrainingError(f"evaluation gave {self._exam.decisive} {score}; {remedy}")
        if progress.best_score is not None and score <= progress.best_score:
            progress.evaluations_since_best += 1
            return
        progress.best_score, progress.evaluations_since_best = score, 0
        if self._patience:
            in_main(self._accelerator, self._save_best)

    def is_exhausted(self, progress: Progress) -> bool:
        """Whether the last evaluations brought nothing better."""
        return bool(self._patience) and progress.evaluations_since_best >= self._patience

    def final_weights(self) -> dict[str, Tensor]:
        """The averaged weights; those of the best evaluation when training may stop early."""
        return load_file(self._best) if self._patience else self._average.weights()

    def _save_best(self) -> None:
        weights = detached(self._average.weights())
        save_tensors(self._best, weights, how_to_resume=self._how_to_resume)
