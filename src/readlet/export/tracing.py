"""A network traced to a graph of ONNX, with the batch size and all lengths free."""

import warnings
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import torch
from torch import nn

from readlet.encoding.batches import Arrays
from readlet.errors import bad_input
from readlet.export.operations import modernise
from readlet.installing import install_extra

# Attention, layer norms and scatters are single operations from here on.
_OPSET = 17


def require_onnx(name: str) -> None:
    """Raise an error if the libraries of the extra are missing, before any work."""
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
    except ImportError as error:
        fault = f"to export it, {error.name} must be installed"
        raise bad_input(name, "", fault, install_extra("onnx")) from None


def trace(
    name: str, module: nn.Module, example: Arrays, outputs: Sequence[str], path: Path
) -> None:
    """Write the graph of the named model's network, which takes these arrays in their order.

    `example` is any batch of at least two rows: a single one would be taken for a constant.

    By the tracer of TorchScript: for the small reader it takes seconds, and torch.export minutes.
    """
    given = tuple(torch.from_numpy(array) for array in example.values())
    axes: dict[str, Any] = {
        name: {axis: f"{name}_{axis}" for axis in range(array.ndim)}
        for name, array in example.items()
    }
    # The axes of outputs follow from those of inputs.
    try:
        with warnings.catch_warnings(), torch.inference_mode(), redirect_stdout(StringIO()):
            warnings.simplefilter("ignore")  # each `if` on a shape; the graph is compared later
            torch.onnx.export(
                module.eval(),
                given,
                path,
                input_names=list(example),
                output_names=list(outputs),
                dynamic_axes=axes,
                opset_version=_OPSET,
                dynamo=False,
            )
    except torch.onnx.OnnxExporterError as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        fault = f"torch cannot export its network ({reason:.120})"
        raise bad_input(name, "", fault, "use it with torch") from None
    modernise(path)
    _simplify(path)


def _simplify(path: Path) -> None:
    """Fold constants and remove what does nothing: half of the operations, and of the time to load.

    The result has standard operations only.
    """
    import onnxruntime

    draft, options = path.with_name("simplified.onnx"), onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(draft)
    options.enable_mem_reuse = False  # as in families/onnx_graph.py
    options.log_severity_level = 4
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    draft.replace(path)
