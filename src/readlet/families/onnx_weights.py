"""Weights that a graph reads from the reader's own file, so that a folder has them once.

The file is the one of the model in torch. Its matrices may be stored in eight bits, with a scale
per row (`int8_weights.py`); the graph computes in float32. `NAME.T` is the transpose of `NAME`:
a graph multiplies from the other side.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file

from readlet.storage.damage import damage_of, stored_file

WEIGHTS = "model.safetensors"
TRANSPOSED, SCALE = ".T", ".scale"
Weights = dict[str, NDArray[np.float32]]


def load_weights(path: Path, names: Iterable[str]) -> Weights:
    """The named weights in float32."""
    with damage_of(path):
        try:
            stored = load_file(stored_file(path))
        except SafetensorError as error:
            raise ValueError(str(error)) from None
        found = {name: _weight(stored, name) for name in names}
        for name, weight in found.items():
            if not np.isfinite(weight).all():
                raise ValueError(f"{name}: a value is NaN or infinite")
    return found


def _weight(stored: dict[str, NDArray[np.generic]], name: str) -> NDArray[np.float32]:
    own = name.removesuffix(TRANSPOSED)
    weight = stored[own].astype(np.float32)
    if own + SCALE in stored:
        weight *= stored[own + SCALE].astype(np.float32)[:, None]  # (R, C)
    return np.ascontiguousarray(weight.T) if name.endswith(TRANSPOSED) else weight
