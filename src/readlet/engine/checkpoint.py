"""Checkpoints: written to a draft folder and renamed when complete, so one is always valid."""

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from readlet.errors import CannotResumeError, ReadletError, bad_input
from readlet.storage.files import make_readable
from readlet.storage.overwrite import is_leftover

_PREFIX = "checkpoint-"
_DRAFT = "."
_NAME = re.compile(r"checkpoint-\d{8,}|\.checkpoint-\d{8,}(\.\d+)?")
FILES = _STATE, _PROGRESS = "state.safetensors", "progress.json"
_GOOD = "good."


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


def save_checkpoint(folder: Path, checkpoint: Checkpoint, *, how_to_resume: str) -> None:
    """Replaces the previous checkpoint; if the disk is full, that one is kept."""
    final = folder / f"{_PREFIX}{checkpoint.progress.step:08d}"
    draft = folder / f"{_DRAFT}{final.name}"
    try:
        _remove(checkpoints_in(folder, drafts=True))  # of runs that were killed while saving
        draft.mkdir(parents=True)
        good = {_GOOD + name: tensor for name, tensor in (checkpoint.good or {}).items()}
        save_file(checkpoint.tensors | good, draft / _STATE)
        make_readable(draft / _STATE)
        (draft / _PROGRESS).write_text(json.dumps(asdict(checkpoint.progress)))
        _flush(draft / _STATE)
        _flush(draft / _PROGRESS)
        older = [path for path in checkpoints_in(folder) if path != final]
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
    _remove(older)


def find_checkpoint(folder: Path) -> Path | None:
    """The newest complete checkpoint."""
    return max(checkpoints_in(folder), default=None)


def checkpoints_in(folder: Path, *, drafts: bool = False) -> list[Path]:
    """The checkpoints, or the drafts of killed processes; other programs name folders similarly."""
    named = _named(folder, drafts=drafts)
    return [path for path in named if drafts or any((path / file).exists() for file in FILES)]


def emptied_checkpoints(folder: Path) -> list[Path]:
    """What is left of checkpoints if the process was killed while it removed them."""
    return [path for path in _named(folder) if path.is_dir() and not any(path.iterdir())]


def _named(folder: Path, *, drafts: bool = False) -> Iterator[Path]:
    for path in folder.glob(f"{_DRAFT if drafts else ''}{_PREFIX}*"):
        if _NAME.fullmatch(path.name) and not path.is_symlink():
            yield path


def load_checkpoint(path: Path, like: dict[str, Tensor]) -> Checkpoint:
    """Read a checkpoint and check that it is one of this model."""
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


def _remove(folders: Iterable[Path]) -> None:
    """Remove checkpoints, but nothing that someone else has put there."""
    for folder in folders:
        leftovers = filter(is_leftover, folder.iterdir()) if folder.is_dir() else ()
        for path in (*(folder / name for name in FILES), *leftovers):
            path.unlink(missing_ok=True)
        with suppress(OSError):  # not empty
            folder.rmdir()


def _flush(path: Path) -> None:
    with path.open("rb") as stream:
        os.fsync(stream.fileno())
