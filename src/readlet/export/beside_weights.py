"""Adds an ONNX model to the folder of an encoder reader, which shares the reader's weights.

Without weights of its own it has only a hundred kilobytes. On machines without a GPU the
reader is then used without torch.
"""

import hashlib
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from readlet.errors import bad_input
from readlet.export.export_folder import require_equal, trace_network
from readlet.export.tracing import network_of, require_onnx
from readlet.inference.reader import Reader
from readlet.models.encoder.scorer import EncoderScorer
from readlet.models.onnx.model import MODEL, TRANSPOSED, WEIGHTS, OnnxModel
from readlet.models.onnx.scorer import Exported, OnnxSpanScorer
from readlet.storage.stored_files import own_json


def add_onnx_model(folder: Path) -> float:
    """Write the ONNX model of a reader into its folder; returns the largest score difference."""
    require_onnx(str(folder))
    reader = Reader.load(folder, device="cpu")
    scorer = reader.scorer
    network = network_of(scorer)
    if network is None or not isinstance(scorer, EncoderScorer):
        fault = f"a reader of kind {reader.kind!r} has no such ONNX model"
        raise bad_input(folder, "", fault, "use `readlet export`")
    weights = folder / WEIGHTS
    state = {name: weight.numpy() for name, weight in scorer.module.state_dict().items()}
    with tempfile.TemporaryDirectory() as drafts:
        path = Path(drafts) / MODEL
        rows = trace_network(reader, network, str(folder), path)
        names = take_weights_out(path, state)
        onnx = OnnxModel.load(path, weights=weights, names=names)
        exported = Exported(
            graph=onnx.digest,
            parameters=scorer.parameters,
            precision="float32",
            facts=tuple(scorer.facts()),
            weights=names,
        )
        made = OnnxSpanScorer(onnx, network.inputs, exported)
        difference = require_equal(str(folder), scorer, made, rows)
        replace(reader, scorer=made).write(folder)
    return difference


def has_onnx_form(folder: Path) -> bool:
    """Whether the model in a folder can have an ONNX model that reads its weights."""
    config = own_json(folder / "config.json") or {}
    return config.get("architecture") == "encoder"


def take_weights_out(path: Path, weights: Mapping[str, NDArray[Any]]) -> tuple[str, ...]:
    """Replace a model's copies of these weights by references; returns their names.

    Copies are found by their bytes, since the tracer renames transposed matrices.
    """
    import onnx
    from onnx import TensorProto, numpy_helper

    known: dict[tuple[str, tuple[int, ...]], str] = {}
    for name, weight in weights.items():
        known.setdefault(_identity(weight), name)
        if weight.ndim == 2:
            known.setdefault(_identity(weight.T), name + TRANSPOSED)
    model = onnx.load(path)
    renamed: dict[str, str] = {}
    for tensor in list(model.graph.initializer):
        values = numpy_helper.to_array(tensor)
        if values.dtype == np.float32 and (own := known.get(_identity(values))):
            model.graph.initializer.remove(tensor)
            if own not in renamed.values():
                place = TensorProto(name=own, data_type=tensor.data_type, dims=tensor.dims)
                place.data_location = TensorProto.EXTERNAL
                for key, value in (("location", WEIGHTS), ("length", str(values.nbytes))):
                    place.external_data.add(key=key, value=value)
                model.graph.initializer.append(place)
            renamed[tensor.name] = own
    for node in model.graph.node:
        node.input[:] = [renamed.get(name, name) for name in node.input]
    path.write_bytes(model.SerializeToString())
    return tuple(sorted(set(renamed.values())))


def _identity(values: NDArray[Any]) -> tuple[str, tuple[int, ...]]:
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest(), values.shape
