"""The log of a run: a line of JSON for every check of the loss and for every evaluation."""

import json
import sys
from pathlib import Path
from typing import Any

import torch

from readlet.storage.files import atomic_text, written_to

LOG = "log.jsonl"


class TrainingLog:
    """A line of values per step. A resumed run writes later lines again."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOG

    def add(self, values: dict[str, Any]) -> None:
        line = json.dumps(values)
        with written_to(self._path), self._path.open("a") as stream:
            stream.write(line + "\n")

    def cut_after(self, step: int) -> None:
        """Remove the lines of later steps: these will run again and write new lines."""
        if not self._path.exists():
            return
        lines = self._path.read_text().splitlines(keepends=True)
        kept = [line for line in lines if _step_of(line) <= step]
        if kept != lines:
            with atomic_text(self._path) as stream:  # a kill must not lose the curve
                stream.writelines(kept)


def _step_of(line: str) -> int:
    """An incomplete line, after a crash, counts as too late."""
    try:
        return int(json.loads(line)["step"])
    except (ValueError, KeyError):
        return sys.maxsize


def memory_mib(device: torch.device) -> float | None:
    """Peak memory of this process so far: on the GPU if it uses one, otherwise in total."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
