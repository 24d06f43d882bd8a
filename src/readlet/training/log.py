"""The log of a run: a line of JSON for every check of the losses and for every evaluation."""

import json
import sys
from pathlib import Path
from typing import Any

import torch

from readlet.storage.files import atomic_text


class TrainingLog:
    """Lines with their step. A run that goes on makes the later ones again."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "log.jsonl"

    def add(self, values: dict[str, Any]) -> None:
        line = json.dumps(values)
        with self._path.open("a") as stream:
            stream.write(line + "\n")

    def cut_after(self, step: int) -> None:
        """Later steps will be made again: their lines would stand twice."""
        if not self._path.exists():
            return
        lines = self._path.read_text().splitlines(keepends=True)
        kept = [line for line in lines if _step_of(line) <= step]
        if kept != lines:
            with atomic_text(self._path) as stream:  # a kill must not lose the curve
                stream.writelines(kept)


def _step_of(line: str) -> int:
    """A line cut off by a crash counts as too late."""
    try:
        return int(json.loads(line)["step"])
    except (ValueError, KeyError):
        return sys.maxsize


def memory_mib(device: torch.device) -> float | None:
    """The most that this process has held so far, on its GPU or else in all."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    try:
        import resource
    except ImportError:  # Windows has none
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
