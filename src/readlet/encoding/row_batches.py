"""Rows as tensors: what the batches of all models have in common."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from torch import Tensor

from readlet.encoding.batches import Arrays
from readlet.encoding.rows import NO_LABEL, AnyRows, Ints


@dataclass(frozen=True)
class RowBatch:
    """Some rows as tensors; a model adds its own inputs. Filler rows have weight 0 and row -1."""

    rows: Tensor  # (B,) row numbers
    labels: Tensor  # (B, 2) first and last place of the answer; (B,) class or value; -1: none
    weight: Tensor  # (B,) share in the loss; the weights of a whole batch sum to 1

    def to(self, device: torch.device) -> Self:
        tensors = vars(self)
        if device.type == "cuda":  # a copy from pageable memory would block on the previous step
            tensors = {name: t.pin_memory() for name, t in tensors.items()}
        moved = {name: t.to(device, non_blocking=True) for name, t in tensors.items()}
        return replace(self, **moved)

    def part(self, index: int, parts: int) -> Self:
        """Every `parts`-th row: the share of one of several processes.

        Gradients are averaged over the processes, so the weights are multiplied by their number.
        """
        rows = {name: t[index::parts] for name, t in vars(self).items()}
        return replace(self, **rows | {"weight": rows["weight"] * parts})


def row_tensors(rows: AnyRows, numbers: Ints, size: int) -> dict[str, Tensor]:
    """The fields of a `RowBatch` of `size` rows, of which the last ones may be fillers."""
    count = len(numbers)
    known = rows.row_label[numbers]  # (count, ...)
    dtype = np.int64 if known.dtype.kind == "i" else np.float32
    labels = np.full((size, *known.shape[1:]), NO_LABEL, dtype)  # (B, ...)
    labels[:count] = known
    weight = np.zeros(size, np.float32)  # (B,)
    weight[:count] = 1.0 / count
    listed = np.full(size, -1, np.int64)  # (B,)
    listed[:count] = numbers
    arrays = {"rows": listed, "labels": labels, "weight": weight}
    return as_tensors(arrays)


def as_tensors(arrays: Arrays) -> dict[str, Tensor]:
    return {name: torch.from_numpy(array) for name, array in arrays.items()}
