"""Weights in eight bits: an oracle in NumPy, and nothing changes on a second way through."""

import numpy as np
import pytest
import torch

from readlet.models.pretrained.parts import from_int8, to_int8


@pytest.fixture(scope="module")
def weights() -> dict[str, torch.Tensor]:
    made = torch.Generator().manual_seed(3)
    matrix = torch.randn(500, 24, generator=made) * torch.logspace(-6, 3, 500)[:, None]  # (R, C)
    matrix[7] = 0.0
    return {"matrix": matrix, "bias": torch.randn(24, generator=made), "count": torch.tensor([5])}


def test_each_weight_is_the_nearest_of_255_values(weights: dict[str, torch.Tensor]) -> None:
    stored = to_int8(weights)
    matrix = weights["matrix"].double().numpy()
    scale = np.abs(matrix).max(axis=1, keepdims=True) / 127
    nearest = np.round(matrix / np.where(scale == 0, 1, scale))
    assert stored["matrix"].dtype == torch.int8
    assert np.abs(stored["matrix"].numpy() - nearest).max() <= 1
    assert stored["matrix"].abs().amax(dim=1).tolist() == [127 * (row != 7) for row in range(500)]
    read = from_int8(stored)["matrix"].numpy()
    assert np.all(np.abs(read - matrix) <= 0.501 * scale)  # a scale is rounded up, by 2**-15


def test_what_was_read_is_written_as_it_was(weights: dict[str, torch.Tensor]) -> None:
    stored = to_int8(weights)
    again = to_int8(from_int8(stored))
    assert stored.keys() == again.keys() == {"matrix", "matrix.scale", "bias", "count"}
    assert all(torch.equal(stored[name], again[name]) for name in stored)


def test_what_is_no_matrix_is_in_half_precision(weights: dict[str, torch.Tensor]) -> None:
    stored = to_int8(weights)
    assert torch.equal(stored["bias"], weights["bias"].half())
    assert torch.equal(stored["count"], weights["count"])


def test_other_weights_are_left_alone(weights: dict[str, torch.Tensor]) -> None:
    assert from_int8(weights) == weights
