"""Align the vectors of one language with those of another, and score the alignment.

Procrustes: the orthogonal map that brings translations closest to each other (Schönemann 1966).
RCSLS (Joulin et al. 2018): the map is trained for the very score that retrieval uses. The
loss over translation pairs is the mean of -2 x'W'y + r(Wx) + r(y), with r the mean of the ten
largest products with words of the other language. W starts orthogonal and may become any map.

Translations are the nearest vectors by CSLS (Conneau et al. 2018): cosines, corrected for words
that are near to all. The score is 2 cos(x, y) - r(x) - r(y).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from readlet.console import track
from readlet.errors import bad_input
from readlet.storage.overwrite import check_file
from readlet.text.vectors import Matrix, write_vectors
from readlet.vectors.vector_files import BLOCK, MAX_WORDS, Pairs, Table, find_pairs, read_table

NEIGHBOURS = 10
"""The k of CSLS: how many nearest neighbours make up the neighbourhood of a vector."""
_QUERIES, _ROWS = 512, 65_536  # of a block: its scores take 134 MB


def nearest(
    queries: Tensor,
    table: Tensor,
    k: int,
    *,
    penalty: Tensor | None = None,
    device: str = "cpu",
    label: str = "",
) -> tuple[Tensor, Tensor]:
    """The k largest q't of each query, and the rows of t: (Q, k) each, the best first.

    With a penalty p, (N,), the k largest 2 q't - p.
    """
    k = min(k, len(table))
    blocks: Iterable[Tensor] = torch.split(queries, _QUERIES)
    if label:
        blocks = track(blocks, -(-len(queries) // _QUERIES), label)
    found = [_of_block(block.to(device), table, k, penalty) for block in blocks]
    values, rows = zip(*found, strict=True)
    return torch.cat(values).cpu(), torch.cat(rows).cpu()  # (Q, k), (Q, k)


def _of_block(queries: Tensor, table: Tensor, k: int, penalty: Tensor | None) -> list[Tensor]:
    values = queries.new_empty(len(queries), 0)  # (B, 0)
    rows = torch.empty(len(queries), 0, dtype=torch.long, device=queries.device)  # (B, 0)
    for first in range(0, len(table), _ROWS):
        part = table[first : first + _ROWS].to(queries.device)  # (R, D)
        scores = queries @ part.T  # (B, R)
        if penalty is not None:
            scores.mul_(2).sub_(penalty[first : first + _ROWS].to(queries.device))
        top = scores.topk(min(k, len(part)))
        values = torch.cat([values, top.values], dim=1)  # (B, up to 2k)
        rows = torch.cat([rows, top.indices + first], dim=1)  # (B, up to 2k)
        best = values.topk(min(k, values.shape[1]))
        values, rows = best.values, rows.gather(1, best.indices)  # (B, up to k) each
    return [values, rows]


def density(queries: Tensor, table: Tensor, *, device: str = "cpu", label: str = "") -> Tensor:
    """r of CSLS, (Q,): the mean similarity of each query to its nearest neighbours."""
    if not len(queries):
        return torch.empty(0)
    values, _ = nearest(queries, table, NEIGHBOURS, device=device, label=label)
    return values.mean(dim=1)  # (Q,)


def csls(
    queries: Tensor, sources: Tensor, targets: Tensor, k: int, *, device: str = "cpu"
) -> tuple[Tensor, Tensor]:
    """The k best targets of each query: scores and rows, (Q, k) each, the best first.

    `queries` have unit length, usually some of the `sources`, all in the space of the targets.
    """
    dense = density(targets, sources, device=device, label="densities")  # (N,)
    scores, rows = nearest(queries, targets, k, penalty=dense, device=device, label="retrieval")
    return scores - density(queries, targets, device=device)[:, None], rows  # (Q, k), (Q, k)


def procrustes(x: Tensor, y: Tensor) -> Tensor:
    """W, (D', D), orthogonal, with the largest sum of y_i' W x_i for the rows of x and y.

    For vectors of unit length that is the least sum of ||y_i - W x_i||². If the widths differ, W is
    semi-orthogonal: its columns are orthonormal if it adds dimensions, its rows if it removes some.
    """
    correlations = y.double().T @ x.double()  # (D', D)
    u, _, vh = torch.linalg.svd(correlations, full_matrices=False)  # (D', K), (K,), (K, D)
    w: Tensor = u @ vh  # (D', D)
    return w.to(x.dtype)


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


CUTS = (1, 5)
"""The k of P@k: a word counts if one of its translations is among the k best."""


@dataclass(frozen=True)
class Check:
    source: Table
    target: Table
    pairs: Pairs
    asked: int  # words of the source with a translation
    precision: dict[str, dict[int, float]]  # by nearest neighbour and by CSLS, at each cut


def check_files(
    source: Path,
    target: Path,
    dictionary: Path,
    *,
    max_words: int = MAX_WORDS,
    device: str = "cpu",
) -> Check:
    """Score aligned vectors, `source`."""
    left, right = read_table(source, max_words), read_table(target, max_words)
    if left.width != right.width:
        fault = f"vectors of width {left.width}, but {right.width} in {target}"
        raise bad_input(source, "", fault, "align it first: readlet vectors align")
    pairs = find_pairs(dictionary, left, right)
    wanted = pairs.translations()
    precision = precisions(left.vectors, right.vectors, wanted, device=device)
    return Check(left, right, pairs, len(wanted), precision)


def precisions(
    sources: Tensor, targets: Tensor, wanted: dict[int, set[int]], *, device: str = "cpu"
) -> dict[str, dict[int, float]]:
    """P@k by method. `wanted` has the right targets of each source row; all are of unit length."""
    queries = sources[list(wanted)]  # (Q, D)
    found = {
        "nearest": nearest(queries, targets, max(CUTS), device=device, label="nearest")[1],
        "csls": csls(queries, sources, targets, max(CUTS), device=device)[1],
    }  # (Q, k) each
    return {
        name: {cut: _share_found(rows[:, :cut].tolist(), wanted) for cut in CUTS}
        for name, rows in found.items()
    }


def _share_found(found: list[list[int]], wanted: dict[int, set[int]]) -> float:
    hits = [not right.isdisjoint(rows) for rows, right in zip(found, wanted.values(), strict=True)]
    return sum(hits) / len(hits)
