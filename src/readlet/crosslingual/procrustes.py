"""The orthogonal map that brings translations closest to each other (Schönemann 1966)."""

import torch
from torch import Tensor


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
