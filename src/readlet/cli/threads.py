"""How many threads a command computes with: as many as there are free cores.

Two threads on one free core wait for each other: with both cores of a machine busy, evaluating took
three times as long with two threads as with one. Not for training: its weights depend on the number
of threads, and a run must not depend on what else the machine does. Predictions do not.
"""

import os

from readlet.inference.model_folder import BASELINE
from readlet.inference.trained_model import needs_torch
from readlet.machine import Usage, free_cores

_BEGAN = Usage.now()  # when the command is loaded: the import of torch gives time to measure
_CHOSEN_BY_USER = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


def use_free_cores(reader: str) -> None:
    """Set the number of threads for this reader, unless the user has."""
    if reader == BASELINE or any(os.environ.get(name) for name in _CHOSEN_BY_USER):
        return
    if not needs_torch(reader):  # onnxruntime gets the number when an ONNX model is loaded
        os.environ[_CHOSEN_BY_USER[0]] = str(free_cores(_BEGAN))
        return
    import torch

    torch.set_num_threads(min(torch.get_num_threads(), free_cores(_BEGAN)))
