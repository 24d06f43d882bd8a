"""Weights in eight bits on disk, a quarter of the size: the model computes in float32.

A row of a matrix is stored as whole numbers from -127 to 127 and one scale; all else is in half
precision. The scales have 16 binary digits, so that a row that was read is written as it was.
"""

import torch

from readlet.families.onnx_weights import SCALE
from readlet.storage.tensors import in_precision

_LARGEST = 127
_DIGITS = 16


def to_int8(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The tensors to write."""
    matrices = {name for name, tensor in weights.items() if _is_matrix(tensor)}
    others = {name: tensor for name, tensor in weights.items() if name not in matrices}
    stored = in_precision(torch.float16, others)
    for name in matrices:
        matrix = weights[name].float()  # (R, C)
        scale = _rounded_up(matrix.abs().amax(dim=1) / _LARGEST)  # (R,)
        divisor = torch.where(scale > 0, scale, 1.0)[:, None]  # (R, 1), a row may be zero
        stored[name] = (matrix / divisor).round().to(torch.int8)  # (R, C)
        stored[name + SCALE] = scale
    return stored


def from_int8(stored: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The weights in float32; tensors that are not in eight bits are returned as they are."""
    scales = {name for name in stored if name.endswith(SCALE)}
    found = {name: tensor for name, tensor in stored.items() if name not in scales}
    for name in scales:
        matrix = name.removesuffix(SCALE)
        found[matrix] = stored[matrix].float() * stored[name][:, None]  # (R, C)
    return found


def _is_matrix(tensor: torch.Tensor) -> bool:
    return tensor.ndim == 2 and tensor.is_floating_point()


def _rounded_up(scale: torch.Tensor) -> torch.Tensor:
    """To 16 binary digits: 127 times such a number, and that divided by 127, are exact."""
    mantissa, exponent = torch.frexp(scale)
    return torch.ldexp(torch.ceil(torch.ldexp(mantissa, torch.tensor(_DIGITS))), exponent - _DIGITS)
