"""Align the vectors of one language with those of another: files in, file out.

Procrustes: the orthogonal map that brings translations closest to each other (Schönemann 1966).
RCSLS (Joulin et al. 2018): the map is trained for the very score that retrieval uses. The
loss over translation pairs is the mean of -2 x'W'y + r(Wx) + r(y), with r the mean of the ten
largest products with words of the other language. W starts orthogonal and may become any map.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from readlet.console import track
from readlet.storage.overwrite import check_file
from readlet.text.vectors import Matrix, write_vectors
from readlet.vectors.retrieval import NEIGHBOURS, nearest
from readlet.vectors.vector_files import BLOCK, MAX_WORDS, Pairs, Table, find_pairs, read_table


def procrustes(x: Tensor, y: Tensor) -> Tensor:
    """W, (D', D), orthogonal, with the largest sum of y_i' W x_i for the rows of x and y.

    For vectors of unit length that is the least sum of ||y_i - W x_i||². If the widths differ, W is
    semi-orthogonal: its columns are orthonormal if it adds dimensions, its rows if it removes some.
    """
    correlations = y.double().T @ x.double()  # (D', D)
    u, _, vh = torch.linalg.svd(correlations, full_matrices=False)  # (D', K), (K,), (K, D)
    w: Tensor = u @ vh  # (D', D)
    return w.to(x.dtype)


def distance_from_orthogonal(matrix: Tensor) -> float:
    """The largest entry of |W'W - I|, or of |WW' - I| if W removes dimensions."""
    tall = matrix if matrix.shape[0] >= matrix.shape[1] else matrix.T  # (more, fewer)
    tall = tall.double()
    gram = tall.T @ tall  # (fewer, fewer)
    return float((gram - torch.eye(len(gram), dtype=gram.dtype)).abs().max())


STEPS = 10
RATE = 4.0
COMPARED = 20_000
"""Frequent words of each language among which neighbours are sought while W is trained."""


class Loss(NamedTuple):
    value: float
    gradient: Tensor  # (D', D)


def rcsls_loss(
    w: Tensor, x: Tensor, y: Tensor, sources: Tensor, targets: Tensor, *, device: str = "cpu"
) -> Loss:
    """Loss and gradient at W, (D', D), for the pairs (x, y), (n, D) and (n, D').

    A neighbourhood is fixed for the gradient, so it is that of a bilinear form.
    """
    n, mapped = len(x), x @ w.T  # (n, D')
    _, near_x = nearest(mapped, targets, NEIGHBOURS, device=device)  # (n, k)
    _, near_y = nearest(y, sources @ w.T, NEIGHBOURS, device=device)  # (n, k)
    mean_target = targets[near_x].mean(dim=1)  # (n, D')
    mean_source = sources[near_y].mean(dim=1)  # (n, D)
    pull = mean_target - 2 * y  # (n, D')
    value = ((mapped * pull).sum() + (y * (mean_source @ w.T)).sum()) / n
    gradient = (pull.T @ x + y.T @ mean_source) / n  # (D', D)
    return Loss(float(value), gradient)


def rcsls(
    start: Tensor, x: Tensor, y: Tensor, sources: Tensor, targets: Tensor, *, device: str = "cpu"
) -> Tensor:
    """W after gradient descent from `start`, (D', D); a step that does not help is halved."""
    sources, targets = sources[:COMPARED], targets[:COMPARED]  # (M, D), (M', D')
    w, rate = start, RATE
    loss = rcsls_loss(w, x, y, sources, targets, device=device)
    for _ in track(range(STEPS), STEPS, "rcsls"):
        trial = w - rate * loss.gradient  # (D', D)
        after = rcsls_loss(trial, x, y, sources, targets, device=device)
        if after.value < loss.value:
            w, loss = trial, after
        else:
            rate /= 2
    return w


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
        """Dimensions that the dictionary does not determine: it has fewer pairs."""
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
