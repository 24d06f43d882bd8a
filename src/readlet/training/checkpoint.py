"""Checkpoints: written beside their place, moved there when whole, so that one is always valid."""

import json
import os
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from readlet.errors import CannotResumeError, ReadletError, bad_input
from readlet.storage.files import make_readable

_PREFIX = "checkpoint-"


@dataclass
class Progress:
    """Where training stands. All randomness is drawn from seed and step, so none is stored."""

    step: int = 0  # optimiser steps that are done
    mean_loss: float | None = None  # running mean, for the guard
    window_loss: float = 0.0  # sum of the losses since the last look of the guard
    window_steps: int = 0
    rollbacks: int = 0
    rollbacks_in_a_row: int = 0
    best_score: float | None = None
    evaluations_since_best: int = 0
    seconds: float = field(default=0.0, compare=False)  # since training was asked for


@dataclass
class Checkpoint:
    progress: Progress
    tensors: dict[str, Tensor]


def save_checkpoint(folder: Path, checkpoint: Checkpoint, *, how_to_resume: str) -> None:
    """Afterwards this is the only checkpoint; if the disk is full, the previous one is."""
    final = folder / f"{_PREFIX}{checkpoint.progress.step:08d}"
    draft = folder / f".{final.name}.{os.getpid()}"
    try:
        draft.mkdir(parents=True)
        save_file(checkpoint.tensors, draft / "state.safetensors")
        make_readable(draft / "state.safetensors")
        (draft / "progress.json").write_text(json.dumps(asdict(checkpoint.progress)))
        _flush(draft / "state.safetensors")
        _flush(draft / "progress.json")
        older = [path for path in folder.glob(f"{_PREFIX}*") if path != final]
        if final.exists():
            shutil.rmtree(final)
        draft.rename(final)
    except (OSError, SafetensorError) as error:
        raise ReadletError(
            f"{final}: not written ({error}); the previous checkpoint is valid: free some space "
            f"and {how_to_resume}"
        ) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    for path in (*older, *folder.glob(f".{_PREFIX}*")):  # also drafts of runs that were killed
        shutil.rmtree(path)


def find_checkpoint(folder: Path) -> Path | None:
    """The newest whole checkpoint."""
    found = sorted(folder.glob(f"{_PREFIX}*"))
    return found[-1] if found else None


def load_checkpoint(path: Path, like: dict[str, Tensor]) -> Checkpoint:
    """Read a checkpoint and make sure that it is one of this very model."""
    try:
        tensors = load_file(path / "state.safetensors")
        progress = Progress(**json.loads((path / "progress.json").read_text()))
    except (OSError, SafetensorError, ValueError, TypeError) as error:
        fault = f"a damaged checkpoint ({error})"
        told = bad_input(path, "", fault, "remove it and train anew")
        raise CannotResumeError(str(told)) from None
    for name, tensor in like.items():
        if name not in tensors or tensors[name].shape != tensor.shape:
            fault = f"has no {name!r} of shape {tuple(tensor.shape)}: of another version"
            told = bad_input(path, "", fault, "train anew in another --out, or use that version")
            raise CannotResumeError(str(told))
    return Checkpoint(progress, tensors)


def _flush(path: Path) -> None:
    with path.open("rb") as stream:
        os.fsync(stream.fileno())
