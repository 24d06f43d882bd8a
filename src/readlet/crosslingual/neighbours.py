"""The nearest rows of a table, block by block: memory does not grow with the table."""

from collections.abc import Iterable

import torch
from torch import Tensor

from readlet.progress import track

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
