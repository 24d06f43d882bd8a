"""Vectors of one file, of unit length, in a file that is mapped into memory."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from readlet.encoding.vectors import vector_blocks
from readlet.errors import bad_input

MAX_WORDS = 200_000
"""Words that are read of a file by default: as many as papers on alignment use."""
BLOCK = 4096  # rows of a table that are computed with at a time


@dataclass(frozen=True)
class Table:
    """Distinct words and their vectors of unit length; frequent words come first."""

    path: Path
    words: list[str]
    vectors: Tensor  # (N, D) float32, on the CPU
    repeated: int  # words that were left out, because they stand in the file twice
    zeros: int  # words whose vector is zero, and has no direction

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def rows(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words)}

    @property
    def width(self) -> int:
        return self.vectors.shape[1]

    def mapped(self, matrix: Tensor) -> Iterator[Tensor]:
        """The vectors after the map W, (D', D), of unit length again, block by block."""
        for block in torch.split(self.vectors, BLOCK):
            yield normalize(block @ matrix.T)  # (block, D')


def read_table(path: Path, max_words: int = MAX_WORDS) -> Table:
    """Read GloVe or fastText text. Of repeated words, the first is kept."""
    known: dict[str, None] = {}
    repeated = zeros = width = 0
    with tempfile.TemporaryFile(prefix="readlet-") as store:
        for words, vectors in vector_blocks(path, max_words):
            fresh = []
            for row, word in enumerate(words):
                if word not in known:
                    known[word] = None
                    fresh.append(row)
            repeated += len(words) - len(fresh)
            # In float64: the square of a large number is not a float32.
            kept = vectors[fresh].astype(np.float64)  # (fresh, D)
            lengths = np.linalg.norm(kept, axis=1, keepdims=True)  # (fresh, 1)
            zeros += int((lengths == 0).sum())
            kept /= np.where(lengths == 0, 1, lengths)
            store.write(kept.astype(np.float32).tobytes())
            width = vectors.shape[1]
        store.flush()
        mapped = np.memmap(store, np.float32, "r+", shape=(len(known), width))  # (N, D)
    if zeros == len(known):
        raise bad_input(path, "", "all vectors are zero", "check how the file was made")
    return Table(path, list(known), torch.from_numpy(mapped), repeated, zeros)
