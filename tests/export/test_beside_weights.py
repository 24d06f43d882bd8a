"""An ONNX model in the reader's own folder: one set of weights, two ways to compute."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from readlet.errors import ReadletError
from readlet.export.beside_weights import add_onnx_model
from readlet.inference.reader import Reader
from readlet.inference.slimming import slim
from readlet.inference.trained_model import needs_torch
from readlet.models.encoder.scorer import EncoderScorer
from readlet.models.onnx.scorer import OnnxSpanScorer

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
LAMP = "The lamp at Cape Wick was lit by Ada Brook in 1881. Fishermen paid for its oil."
PAIRS = [("Who lit the lamp?", LAMP), ("Who paid?", " ".join([LAMP] * 6)), ("Who?", " \n ")]


@pytest.fixture(autouse=True)
def _without_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELERATE_USE_CPU", "1")


@pytest.fixture(scope="module", params=["float32", "float16", "int8"])
def folder(
    request: pytest.FixtureRequest,
    random_encoder_reader: Callable[..., Reader],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    reader = random_encoder_reader()
    made = tmp_path_factory.mktemp(request.param) / "reader"
    (reader if request.param == "float32" else slim(reader, stored=request.param)).save(made)
    assert add_onnx_model(made) < 1e-4
    return made


def test_both_forms_give_the_same_answers(folder: Path) -> None:
    with_torch, by_graph = Reader.load(folder, device="cpu"), Reader.load(folder)
    assert isinstance(with_torch.scorer, EncoderScorer)
    assert isinstance(by_graph.scorer, OnnxSpanScorer)
    for expected, found in zip(
        with_torch.answer_batch(PAIRS), by_graph.answer_batch(PAIRS), strict=True
    ):
        assert (found.text, found.start) == (expected.text, expected.start)
        assert found.no_answer == pytest.approx(expected.no_answer, abs=1e-4)
    assert (needs_torch(str(folder)), needs_torch(str(folder), device="cpu")) == (False, True)


def test_the_onnx_model_has_no_weights(folder: Path) -> None:
    import onnx
    from onnx import numpy_helper

    inside = onnx.load(folder / "model.onnx", load_external_data=False).graph.initializer
    own = [t for t in inside if t.data_location != onnx.TensorProto.EXTERNAL]
    assert all(numpy_helper.to_array(tensor).size <= 512 for tensor in own)
    named = json.loads((folder / "config.json").read_text())["exported"]["weights"]
    assert sorted(t.name for t in inside if t not in own) == sorted(named)


def test_a_copy_has_both_forms(folder: Path, tmp_path: Path) -> None:
    Reader.load(folder).save(tmp_path / "copy")
    kept = {"model.safetensors", "model.onnx", "config.json", "tokenizer.json"}
    names = {path.name for path in folder.iterdir() if path.name != "README.md"}
    assert kept < names
    for name in names:
        assert (tmp_path / "copy" / name).read_bytes() == (folder / name).read_bytes()
    assert "with an ONNX model, for CPUs" in (tmp_path / "copy" / "README.md").read_text("utf-8")


def test_nothing_imports_torch(folder: Path) -> None:
    program = f"""
import sys
from readlet.inference.reader import Reader
assert Reader.load({str(folder)!r}).answer("Who lit the lamp?", {LAMP!r}).n_best
assert "torch" not in sys.modules and "transformers" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("damage", ["cut", "nan", "missing"])
def test_damaged_weights(
    folder: Path, tmp_path: Path, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "reader"
    shutil.copytree(folder, copy)
    path = copy / "model.safetensors"
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-40])
    elif damage == "missing":
        path.unlink()
    else:
        from safetensors.numpy import load_file, save_file

        tensors = load_file(path)
        name = next(name for name in tensors if name.endswith("LayerNorm.bias"))
        save_file(tensors | {name: np.full_like(tensors[name], np.nan)}, path)
    with pytest.raises(ReadletError, match=r"model\.safetensors"):
        Reader.load(copy)
