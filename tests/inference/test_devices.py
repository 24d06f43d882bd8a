"""Devices: a GPU when there is one, the named one, or a one-line error."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from readlet.errors import ReadletError
from readlet.inference.reader import Reader, load_reader
from readlet.inference.trained_model import chosen_device

Run = Callable[..., Any]
PASSAGE = "Ada Brook lit the lamp in 1881."


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Pretend that these kinds of GPU are there."""

    def pretend(*kinds: str) -> None:
        monkeypatch.delenv("ACCELERATE_USE_CPU", raising=False)
        monkeypatch.setattr("torch.cuda.is_available", lambda: "cuda" in kinds)
        monkeypatch.setattr("torch.backends.mps.is_available", lambda: "mps" in kinds)
        monkeypatch.setattr("readlet.inference.trained_model._check", lambda device: None)

    return pretend


@pytest.mark.parametrize(
    ("kinds", "expected"), [((), "cpu"), (("cuda",), "cuda"), (("mps",), "mps")]
)
def test_a_gpu_is_used_when_there_is_one(
    gpus: Callable[..., None], kinds: tuple[str, ...], expected: str
) -> None:
    gpus(*kinds)
    assert chosen_device("auto") == expected
    assert chosen_device("cpu") == "cpu"


def test_the_environment_keeps_it_on_the_cpu(
    gpus: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    gpus("cuda")
    monkeypatch.setenv("ACCELERATE_USE_CPU", "True")
    assert chosen_device("auto") == "cpu"


def test_a_reader_moves_to_the_gpu_by_default(
    gpus: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    random_reader: Callable[..., Reader],
    tmp_path: Path,
) -> None:
    random_reader(PASSAGE).save(tmp_path)
    gpus("cuda")
    moved: list[str] = []
    monkeypatch.setattr(
        "readlet.models.torch_scorer.TorchScorer.move_to",
        lambda self, device: moved.append(device),
    )
    assert Reader.load(tmp_path).device == "cuda"
    assert load_reader(str(tmp_path), device="cpu").device == "cpu"  # type: ignore[attr-defined]
    assert moved == ["cuda", "cpu"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("device", ["cuda", "cuda:7", "gpu", "", "meta"])
def test_a_device_that_is_not_there(device: str) -> None:
    with pytest.raises(ReadletError, match="not available on this machine; give cpu, or a GPU"):
        chosen_device(device)
