"""Rows to the arrays that an exported graph reads; one file for words, one for subwords."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from readlet.encoding.batches import Arrays, Batches


@dataclass(frozen=True)
class Inputs(ABC):
    """A text encoder, and what the graph reads of its rows."""

    names: ClassVar[tuple[str, ...]]
    """Of the arrays that the network reads, in the order of its parameters."""

    encoder: Any
    null: bool  # whether the model scores "no answer"

    @abstractmethod
    def batches(self, rows: Any, batch_size: int) -> Batches[Arrays]: ...

    def allowed(self, arrays: Arrays) -> NDArray[np.bool_]:
        """Which places of a reader's batch may be part of an answer: (B, L)."""
        allowed: NDArray[np.bool_] = arrays["allowed"]
        return allowed

    @abstractmethod
    def save(self, folder: Path) -> list[str]:
        """Write the files of the encoder and return their names."""
