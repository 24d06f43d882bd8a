"""Align the vectors of one language with those of another: files in, file out."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from torch import Tensor

from readlet.crosslingual.dictionary import Pairs, find_pairs
from readlet.crosslingual.procrustes import distance_from_orthogonal, procrustes
from readlet.crosslingual.rcsls import rcsls
from readlet.crosslingual.table import BLOCK, MAX_WORDS, Table, read_table
from readlet.encoding.vectors import Matrix, write_vectors
from readlet.progress import track
from readlet.storage.outputs import check_file

Method = Literal["procrustes", "rcsls"]


@dataclass(frozen=True)
class Alignment:
    """The map W, (D', D), and what it was made from."""

    source: Table
    target: Table
    pairs: Pairs
    method: Method
    matrix: Tensor

    @property
    def distance_from_orthogonal(self) -> float:
        return distance_from_orthogonal(self.matrix)

    @property
    def undetermined(self) -> int:
        """Dimensions of which the dictionary says nothing: it has fewer pairs."""
        return max(0, min(self.matrix.shape) - len(self.pairs))


def align(
    source: Table, target: Table, pairs: Pairs, *, method: Method, device: str = "cpu"
) -> Alignment:
    x, y = source.vectors[pairs.source], target.vectors[pairs.target]  # (n, D), (n, D')
    matrix = procrustes(x, y)  # (D', D)
    if method == "rcsls":
        matrix = rcsls(matrix, x, y, source.vectors, target.vectors, device=device)
    return Alignment(source, target, pairs, method, matrix)


def align_files(
    source: Path,
    target: Path,
    dictionary: Path,
    out: Path,
    *,
    method: Method = "procrustes",
    max_words: int = MAX_WORDS,
    device: str = "cpu",
    overwrite: bool = False,
) -> Alignment:
    """Write the source's vectors in the target's space, of unit length."""
    check_file(out, (source, target, dictionary), overwrite=overwrite)
    left, right = read_table(source, max_words), read_table(target, max_words)
    found = find_pairs(dictionary, left, right)
    made = align(left, right, found, method=method, device=device)
    write_vectors(out, left.words, _rows(made))
    return made


def _rows(made: Alignment) -> Iterator[Matrix]:
    total = -(-len(made.source.words) // BLOCK)
    for block in track(made.source.mapped(made.matrix), total, "writing"):
        yield block.numpy()
