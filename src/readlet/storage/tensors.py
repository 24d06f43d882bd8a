"""Named tensors in safetensors files: atomic writes with default permissions."""

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from readlet.errors import ReadletError
from readlet.storage.files import make_readable
from readlet.storage.stored_files import damage_of, stored_file

_AGAIN = "try again (training: --resume)"


def save_tensors(path: Path, tensors: dict[str, Tensor], *, how_to_resume: str = _AGAIN) -> None:
    """Write one file atomically."""
    draft = path.with_name(f".{path.name}")
    try:
        save_file(tensors, draft)
        make_readable(draft)  # safetensors creates private files
        draft.replace(path)
    except (OSError, SafetensorError) as error:
        remedy = f"free some space and {how_to_resume}"
        raise ReadletError(f"{path}: not written ({error}); {remedy}") from None
    finally:
        draft.unlink(missing_ok=True)


def load_tensors(path: Path) -> dict[str, Tensor]:
    with damage_of(path):
        try:
            tensors: dict[str, Tensor] = load_file(stored_file(path))
        except SafetensorError as error:
            raise ValueError(str(error)) from None
    return tensors


def refuse_non_finite(tensors: dict[str, Tensor]) -> None:
    """Raise a ValueError with the name of the first tensor that has a NaN or infinite value."""
    for name, tensor in tensors.items():
        # The extremes are NaN if a value is: one pass without a copy, unlike isfinite.
        if tensor.numel() and tensor.is_floating_point():
            ends = torch.stack(torch.aminmax(tensor.flatten()))  # (2,)
            if not ends.isfinite().all():
                raise ValueError(f"{name}: a value is NaN or infinite")


def detached(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Copies on the CPU that later steps cannot change."""
    return {name: t.detach().to("cpu", copy=True).contiguous() for name, t in tensors.items()}


def in_precision(dtype: torch.dtype, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The same tensors, with the floating-point ones cast to `dtype`."""
    return {name: t.to(dtype) if t.is_floating_point() else t for name, t in tensors.items()}
