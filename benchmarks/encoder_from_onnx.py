"""Turn the ONNX export of a BERT without a pooler into a folder that `model.encoder` reads.

    python benchmarks/encoder_from_onnx.py gte-small --out runs/gte-small

The first folder is laid out as the hub's ONNX exports are: `config.json`, the tokenizer's files and
`onnx/model.onnx`, in float32. Exporters rename and transpose the matrices of linear layers, but
their nodes keep the path of the layer, from which the weights get their names back. The outputs of
both models on the same tokens are compared at the end. Needs the extra `train`.
"""

import argparse
import shutil
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import numpy_helper
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModel

from readlet.errors import ReadletError

TOLERANCE = 1e-4  # of float32 sums in another order
_NOT_WEIGHTS = {"config.json", "onnx"}


def weights_by_layer(model: onnx.ModelProto) -> dict[str, torch.Tensor]:
    """The weights under the names of their layers, matrices as `torch.nn.Linear` stores them."""
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    weights = {name: torch.tensor(array) for name, array in stored.items() if "::" not in name}
    for node in model.graph.node:
        matrix = next((name for name in node.input if "::" in name and name in stored), None)
        if node.op_type == "MatMul" and matrix is not None:
            layer = node.name.removesuffix("/MatMul").strip("/").replace("/", ".")
            weights[f"{layer}.weight"] = torch.tensor(stored[matrix]).T.contiguous()
    return weights


def convert(source: Path, out: Path) -> float:
    """Write the folder; the largest difference between the outputs of both models."""
    exported = source / "onnx" / "model.onnx"
    out.mkdir(parents=True, exist_ok=True)
    for file in source.iterdir():
        if file.name not in _NOT_WEIGHTS:
            shutil.copy(file, out / file.name)
    config = AutoConfig.from_pretrained(source)
    config.save_pretrained(out)
    network = AutoModel.from_config(config, add_pooling_layer=False)
    missing, unexpected = network.load_state_dict(weights_by_layer(onnx.load(exported)), False)
    lost = [name for name in missing if not name.endswith("_ids")]
    if lost or unexpected:
        raise ReadletError(f"{exported}: not a BERT without a pooler: {[*lost, *unexpected][0]}")
    save_file(network.state_dict(), out / "model.safetensors", metadata={"format": "pt"})
    return difference(exported, AutoModel.from_pretrained(out, add_pooling_layer=False))


def difference(exported: Path, network: torch.nn.Module) -> float:
    session = onnxruntime.InferenceSession(str(exported), providers=["CPUExecutionProvider"])
    tokens = np.random.default_rng(0).integers(0, network.config.vocab_size, (2, 48))  # (B, L)
    inputs = {"input_ids": tokens, "attention_mask": np.ones_like(tokens)}
    inputs["token_type_ids"] = np.repeat([0, 1], 24)[None].repeat(2, axis=0)  # (B, L)
    with torch.inference_mode():
        states = network.eval()(**{name: torch.tensor(a) for name, a in inputs.items()})[0]
    return float(np.abs(session.run(None, inputs)[0] - states.numpy()).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, help="folder of the export")
    parser.add_argument("--out", type=Path, required=True, help="folder of the encoder")
    options = parser.parse_args()
    largest = convert(options.source, options.out)
    print(f"{options.out}: outputs differ by at most {largest:.1e}")
    if largest > TOLERANCE:
        raise ReadletError(f"more than {TOLERANCE:.0e}: do not use it")


if __name__ == "__main__":
    try:
        main()
    except ReadletError as error:
        sys.exit(f"encoder_from_onnx: {error}")
