"""Weights on disk: in float32, in half precision, or with matrices in eight bits."""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from readlet.errors import bad_input
from readlet.models.config import StoredAs
from readlet.models.onnx.model import SCALE
from readlet.storage.stored_files import detached, in_precision, load_tensors, require_finite

_LARGEST = 127  # of eight bits
_DIGITS = 16  # of a scale, so that reading and writing a row is lossless
STORED_FACTS: dict[StoredAs, list[str]] = {
    "float32": [],
    "float16": ["- weights stored in half precision"],
    "int8": ["- weights stored in eight bits, and in half precision what is not a matrix"],
}


def on_disk(weights: dict[str, Tensor], stored: StoredAs) -> dict[str, Tensor]:
    """Copies in the stored dtype."""
    if stored == "int8":
        return to_int8(detached(weights))
    return in_precision(torch.float16 if stored == "float16" else torch.float32, detached(weights))


def read_weights(path: Path) -> dict[str, Tensor]:
    """The weights in a file; those in eight bits become float32. ValueError if damaged."""
    weights = from_int8(load_tensors(path))
    require_finite(weights)
    return weights


def check_shapes(wanted: Mapping[str, torch.Size], weights: Mapping[str, Tensor]) -> None:
    """Raise ValueError if the weights are those of another network."""
    if wanted.keys() != weights.keys():
        raise ValueError(f"other names: {min(wanted.keys() ^ weights.keys()):.80}")
    for name, shape in wanted.items():
        if shape != weights[name].shape:
            raise ValueError(f"{name:.80}: {tuple(weights[name].shape)}, not {tuple(shape)}")


def rounded(module: nn.Module, stored: StoredAs) -> dict[str, Tensor]:
    """Its weights, rounded as they are on disk."""
    weights = dict(module.state_dict())
    half = in_half_precision(weights)  # rejects values that are too large
    return from_int8(to_int8(detached(weights))) if stored == "int8" else half


def in_half_precision(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Copies rounded to float16; a value beyond its range is an error."""
    half = on_disk(weights, "float16")
    for name, tensor in half.items():
        if not torch.isfinite(tensor).all():
            fault = "has a value too large for half precision, so it cannot be slimmed"
            raise bad_input(name, "", fault, "train the model again")
    return half


def to_int8(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Matrices in eight bits with a scale for each row, all else in half precision.

    A quarter of the size on disk; the model computes in float32.
    """
    matrices = {name for name, tensor in weights.items() if _is_matrix(tensor)}
    others = {name: tensor for name, tensor in weights.items() if name not in matrices}
    stored = in_precision(torch.float16, others)
    for name in matrices:
        matrix = weights[name].float()  # (R, C)
        scale = _scale_of(matrix)  # (R,)
        stored[name] = (matrix / _divisor(scale)).round().to(torch.int8)  # (R, C)
        stored[name + SCALE] = scale
    return stored


def from_int8(stored: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights in float32; tensors that are not in eight bits are returned unchanged."""
    scales = {name for name in stored if name.endswith(SCALE)}
    found = {name: tensor for name, tensor in stored.items() if name not in scales}
    for name in scales:
        matrix = name.removesuffix(SCALE)
        found[matrix] = stored[matrix].float() * stored[name][:, None]  # (R, C)
    return found


@torch.no_grad()
def round_at_random(module: nn.Module) -> None:
    """Put all matrices on the grid of eight bits, each weight up or down, unbiased.

    Fine-tuning moves most weights by less than half a step. Those of a start in eight bits stand on
    the grid: the nearest point would be where they began, and nothing would have been learned.
    """
    generator = torch.Generator().manual_seed(0)
    for weight in module.parameters():
        if _is_matrix(weight):
            divisor = _divisor(_scale_of(weight.float()))  # (R, 1)
            drawn = torch.rand(weight.shape, generator=generator).to(weight.device)  # (R, C)
            weight.copy_(torch.floor(weight / divisor + drawn) * divisor)


def _is_matrix(tensor: Tensor) -> bool:
    return tensor.ndim == 2 and tensor.is_floating_point()


def _scale_of(matrix: Tensor) -> Tensor:
    """(R,), rounded up to 16 binary digits: 127 times it, and that divided by 127, are exact."""
    mantissa, exponent = torch.frexp(matrix.abs().amax(dim=1) / _LARGEST)  # (R,) each
    return torch.ldexp(torch.ceil(torch.ldexp(mantissa, torch.tensor(_DIGITS))), exponent - _DIGITS)


def _divisor(scale: Tensor) -> Tensor:
    return torch.where(scale > 0, scale, 1.0)[:, None]  # (R, 1), a row may be zero
