"""Checkpoints, and the spike guard that goes back to the last one.

A checkpoint is written to a draft folder and renamed when complete, so one is always valid. The
guard checks the loss: NaN or a sudden spike means that a step went wrong.
"""

import json
import math
import os
import re
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.amp.grad_scaler import GradScaler

from readlet.errors import CannotResumeError, FailedTrainingError, ReadletError, bad_input
from readlet.recipe.recipe import Training
from readlet.storage.files import make_readable
from readlet.storage.stored_files import HOW_TO_RESUME, detached

_PREFIX = "checkpoint-"
_NAME = re.compile(r"checkpoint-\d{8,}")
_DRAFT = re.compile(r"\.checkpoint-\d{8,}(\.old)?")
_STATE, _PROGRESS = "state.safetensors", "progress.json"
_GOOD = "good."
_MOMENTS = ("exp_avg", "exp_avg_sq")


@dataclass
class Progress:
    """Training progress. Random numbers depend on seed and step only: no generator is stored."""

    step: int = 0  # completed optimiser steps
    mean_loss: float | None = None  # running mean, for the guard
    window_loss: float = 0.0  # sum of the losses since the last check of the guard
    window_steps: int = 0
    updates: int = 0  # steps up to the last check that float16 did not skip
    rollbacks: int = 0
    rollbacks_in_a_row: int = 0
    best_score: float | None = None
    best_step: int = 0
    evaluations_since_best: int = 0
    seconds: float = field(default=0.0, compare=False)  # training time, without interruptions


@dataclass
class Checkpoint:
    """The state at a step. A rollback restores `good`, or this state if that is None.

    A checkpoint written because training was stopped also has the last regular state: after a
    resume, a rollback restores the same state as without the stop.
    """

    progress: Progress
    tensors: dict[str, Tensor]
    good: dict[str, Tensor] | None = None


@dataclass(frozen=True)
class TrainingState:
    """Reads and restores the state of a training run, exactly."""

    parameters: dict[str, nn.Parameter]
    optimizer: torch.optim.Adam
    average: dict[str, Tensor]  # empty without one
    scaler: GradScaler

    def tensors(self) -> dict[str, Tensor]:
        found: dict[str, Tensor] = {}
        for name, parameter in self.parameters.items():
            found[f"weight.{name}"] = parameter
            memory = self.optimizer.state[parameter]
            for moment in _MOMENTS:
                found[f"{moment}.{name}"] = memory.get(moment, torch.zeros_like(parameter))
        for name, shadow in self.average.items():
            found[f"average.{name}"] = shadow
        found["adam_steps"] = torch.tensor(float(self.updates()))
        scaler = self.scaler.state_dict()
        found["scale"] = torch.tensor(float(scaler.get("scale", 1.0)))
        found["growth"] = torch.tensor(float(scaler.get("_growth_tracker", 0)))
        return detached(found)

    @torch.no_grad()
    def restore(self, tensors: dict[str, Tensor]) -> None:
        for name, parameter in self.parameters.items():
            parameter.copy_(tensors[f"weight.{name}"])
            memory = self.optimizer.state[parameter]
            for moment in _MOMENTS:
                stored = tensors[f"{moment}.{name}"].to(parameter.device)
                if moment in memory:
                    memory[moment].copy_(stored)
                else:
                    memory[moment] = stored.clone()
            steps = tensors["adam_steps"].to(self._step_device(parameter))
            if "step" in memory:
                memory["step"].copy_(steps)
            else:
                memory["step"] = steps.clone()
        for name, shadow in self.average.items():
            shadow.copy_(tensors[f"average.{name}"])
        if self.scaler.is_enabled():
            state = self.scaler.state_dict()
            state |= {"scale": float(tensors["scale"]), "_growth_tracker": int(tensors["growth"])}
            self.scaler.load_state_dict(state)

    def updates(self) -> int:
        """The number of updates of the weights. Synchronises with the device."""
        memory = self.optimizer.state[next(iter(self.parameters.values()))]
        return int(memory.get("step", 0))

    def _step_device(self, parameter: nn.Parameter) -> torch.device:
        # Adam counts steps on the CPU unless it is fused or capturable.
        group = self.optimizer.param_groups[0]
        on_device = group.get("capturable") or group.get("fused")
        return parameter.device if on_device else torch.device("cpu")


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Replaces the previous checkpoint; if the disk is full, that one is kept."""
    final = folder / f"{_PREFIX}{checkpoint.progress.step:08d}"
    draft = folder / f".{final.name}"
    try:
        for path in drafts_in(folder):  # left by processes that were killed
            shutil.rmtree(path)
        draft.mkdir(parents=True)
        good = {_GOOD + name: tensor for name, tensor in (checkpoint.good or {}).items()}
        save_file(checkpoint.tensors | good, draft / _STATE)
        make_readable(draft / _STATE)
        (draft / _PROGRESS).write_text(json.dumps(asdict(checkpoint.progress)))
        _flush(draft / _STATE)
        _flush(draft / _PROGRESS)
        older = checkpoints_in(folder)
        if final in older:
            _remove(older.pop(older.index(final)))
        draft.rename(final)
    except (OSError, SafetensorError) as error:
        raise ReadletError(
            f"{final}: not written ({error}); the previous checkpoint is valid: free some space "
            f"and {HOW_TO_RESUME}"
        ) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    for path in older:
        _remove(path)


def _remove(path: Path) -> None:
    """Renamed first: a kill leaves a draft, never a part of a checkpoint."""
    shutil.rmtree(path.rename(path.with_name(f".{path.name}.old")), ignore_errors=True)


def remove_checkpoints(folder: Path) -> None:
    """All of them: what was trained is finished."""
    for path in [*checkpoints_in(folder), *drafts_in(folder)]:
        shutil.rmtree(path, ignore_errors=True)


def find_checkpoint(folder: Path) -> Path | None:
    """The newest complete checkpoint."""
    return max(checkpoints_in(folder), default=None)


def checkpoints_in(folder: Path) -> list[Path]:
    return [path for path in folder.glob(f"{_PREFIX}*") if _NAME.fullmatch(path.name)]


def drafts_in(folder: Path) -> list[Path]:
    """Remains of checkpoints that killed processes were writing or removing."""
    return [path for path in folder.glob(f".{_PREFIX}*") if _DRAFT.fullmatch(path.name)]


def load_checkpoint(path: Path, like: dict[str, Tensor]) -> Checkpoint:
    """Read a checkpoint and check that it belongs to this model."""
    try:
        stored = load_file(path / _STATE)
        progress = Progress(**json.loads((path / _PROGRESS).read_text()))
    except (OSError, SafetensorError, ValueError, TypeError) as error:
        fault = f"damaged checkpoint ({error})"
        damage = bad_input(path, "", fault, "remove it and train again")
        raise CannotResumeError(str(damage)) from None
    tensors = {name: t for name, t in stored.items() if not name.startswith(_GOOD)}
    good = {name.removeprefix(_GOOD): t for name, t in stored.items() if name.startswith(_GOOD)}
    for part in (tensors, good) if good else (tensors,):
        _check_version(path, part, like)
    return Checkpoint(progress, tensors, good or None)


def _check_version(path: Path, tensors: dict[str, Tensor], like: dict[str, Tensor]) -> None:
    for name, tensor in like.items():
        if name not in tensors or tensors[name].shape != tensor.shape:
            fault = f"has no {name!r} of shape {tuple(tensor.shape)}: from another version"
            remedy = "train again in another --out, or use that version"
            raise CannotResumeError(str(bad_input(path, "", fault, remedy)))


def _flush(path: Path) -> None:
    with path.open("rb") as stream:
        os.fsync(stream.fileno())


# --- the spike guard: when to go back to the last checkpoint --------------------------------------

_SMOOTHING = 0.9  # of the running mean
# In nats. Once a model has memorised its data, any relative increase may be noise. And from a
# medium loss no factor reaches the loss of random guessing, 2 log(length of the passage).
_NOTEWORTHY, _ALARMING = 1.0, 5.0
_MAX_ROLLBACKS = 5


@dataclass
class Guard:
    """Decides whether a loss is bad, and which state is restored after a bad one."""

    settings: Training
    guessing: float
    progress: Progress  # has the mean and the counts, so that they are resumed
    good: dict[str, Tensor]  # the state of the last regular checkpoint, or the initial one

    def is_bad(self, loss: float) -> bool:
        """Whether a loss is not finite, or far above the running mean (by the factor `spike`).

        The first loss has no mean: it is compared with the loss of random guessing.
        """
        mean = self.progress.mean_loss
        if not math.isfinite(loss):
            return True
        if mean is None:
            return loss - self.guessing > _ALARMING
        return loss - mean > min(max((self.settings.spike - 1.0) * mean, _NOTEWORTHY), _ALARMING)

    def accept(self, loss: float) -> None:
        """Add a good loss to the running mean."""
        mean = self.progress.mean_loss
        self.progress.mean_loss = (
            loss if mean is None else _SMOOTHING * mean + (1 - _SMOOTHING) * loss
        )
        self.progress.rollbacks_in_a_row = 0

    def roll_back(self) -> dict[str, Tensor]:
        """Count a rollback and return the state to restore; an error if there were too many."""
        self.progress.rollbacks += 1
        self.progress.rollbacks_in_a_row += 1
        if self._diverges():
            raise FailedTrainingError(
                f"training diverges: {self.progress.rollbacks - 1} rollbacks; "
                "lower training.learning_rate or raise training.warmup_steps"
            )
        return self.good

    def _diverges(self) -> bool:
        """Too many rollbacks in a row, or at more than a third of all checks so far."""
        if self.progress.rollbacks_in_a_row > _MAX_ROLLBACKS:
            return True
        checks = -(-self.progress.step // self.settings.log_every)
        return self.progress.rollbacks > max(_MAX_ROLLBACKS, checks / 3)
