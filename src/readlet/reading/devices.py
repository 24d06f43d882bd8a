"""Where a reader computes: a GPU when there is one, or the device that the user names."""

import os
import platform
import sys
from importlib.util import find_spec
from pathlib import Path
from shutil import which

from readlet.errors import ReadletError

AUTO = "auto"


def chosen_device(device: str) -> str:
    """The device to use; `auto` is a GPU when there is one, else the CPU.

    `ACCELERATE_USE_CPU` keeps `auto` on the CPU, as it does for training.
    """
    name = _automatic() if device == AUTO else str(device)  # torch.device is accepted, too
    _check(name)
    return name


def prefers_onnx(device: str) -> bool:
    """Whether a model that has an ONNX model beside its weights is best used by that: on a CPU.

    It is asked before torch is imported: that would take longer than an answer.
    """
    return device == AUTO and find_spec("onnxruntime") is not None and not _may_have_gpu()


def _may_have_gpu() -> bool:
    if _only_cpu():
        return False
    is_apple = sys.platform == "darwin" and platform.machine() == "arm64"
    return is_apple or which("nvidia-smi") is not None or Path("/dev/kfd").exists()


def _only_cpu() -> bool:
    return os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true", "yes", "on")


def _automatic() -> str:
    if _only_cpu():
        return "cpu"
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _check(device: str) -> None:
    if device == "cpu":
        return
    import torch

    try:
        torch.empty(1, device=device).cpu()  # a device without storage fails here too
    except (RuntimeError, AssertionError, NotImplementedError):
        fault = f"device {device!r}: not available on this machine"
        raise ReadletError(f"{fault}; give cpu, or a GPU such as cuda or cuda:1") from None
