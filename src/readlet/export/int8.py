"""Quantises the matrix products of an ONNX model to eight bits: smaller and faster.

A matrix has a scale for each column. Its inputs are quantised at run time,
with a scale for each token: no score depends on the other rows of its batch, nor on padding, as it
would with one scale for all of them. Word vectors and convolutions stay in float32.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# onnxruntime's own operation: it multiplies in int8 and dequantises to float32.
_PRODUCT, _DOMAIN = "MatMulIntegerToFloat", "com.microsoft"
_MOST_OF_TOKEN = 127  # on either side of _ZERO
_ZERO = 128
# With 8 bits, sums of two products overflow on processors without VNNI.
_MOST_OF_WEIGHT = 63
_SHARED = "int8.step", "int8.zero", "int8.least", "int8.axes"


def round_to_int8(source: Path, target: Path) -> None:
    """Write the rounded model."""
    import onnx
    from onnx import numpy_helper

    model = onnx.load(source)
    graph = model.graph
    values = 1 / _MOST_OF_TOKEN, _ZERO, 1e-12, [-1]
    types = np.float32, np.uint8, np.float32, np.int64
    tensors: dict[str, NDArray[Any]] = dict(zip(_SHARED, map(np.array, values, types), strict=True))
    matrices = {weight.name: weight for weight in graph.initializer if len(weight.dims) == 2}
    version = next(one.version for one in model.opset_import if one.domain in ("", "ai.onnx"))
    nodes: list[Any] = []
    rounded: set[str] = set()  # inputs of products
    for node in graph.node:
        if node.op_type != "MatMul" or node.input[1] not in matrices or node.input[0] in matrices:
            nodes.append(node)
            continue
        x, weight = node.input
        if x not in rounded:
            rounded.add(x)
            nodes += _rounding(x, version)
        if f"{weight}.int8" not in tensors:
            stored = numpy_helper.to_array(matrices[weight]).astype(np.float32)
            tensors |= zip(_names(weight), _columns(stored), strict=True)
        nodes += _product(x, weight, node.output[0])
    used = {name for node in nodes for name in node.input}
    kept = [weight for weight in graph.initializer if weight.name in used]
    added = [numpy_helper.from_array(tensors[name], name) for name in tensors if name in used]
    for field, new in ((graph.node, nodes), (graph.initializer, kept + added)):
        del field[:]
        field.extend(new)
    if all(one.domain != _DOMAIN for one in model.opset_import):
        model.opset_import.append(onnx.helper.make_opsetid(_DOMAIN, 1))
    onnx.save(model, target)


def _names(weight: str) -> tuple[str, str, str]:
    """Names of the matrix in int8, its scales and its zeros."""
    return f"{weight}.int8", f"{weight}.scale", f"{weight}.zero"


def _columns(weight: NDArray[np.float32]) -> tuple[NDArray[Any], ...]:
    """The matrix (K, N) in int8, the scale (N,) and the zero (N,) of each column."""
    scale = np.abs(weight).max(axis=0) / _MOST_OF_WEIGHT  # (N,)
    scale[scale == 0] = 1.0
    rounded = np.rint(weight / scale).astype(np.int8)  # (K, N)
    return rounded, scale.astype(np.float32), np.zeros(len(scale), np.int8)


def _rounding(x: str, version: int) -> Iterator[Any]:
    """x (..., L, K) as uint8, by the largest magnitude (..., L, 1) of each token."""
    from onnx.helper import make_node

    step, zero, least, axes = _SHARED
    for operation, end in (("ReduceMax", "high"), ("ReduceMin", "low")):
        if version < 18:  # an attribute, until it became an input
            yield make_node(operation, [x], [f"{x}.{end}"], axes=[-1])
        else:
            yield make_node(operation, [x, axes], [f"{x}.{end}"])
    yield make_node("Neg", [f"{x}.low"], [f"{x}.negative"])
    yield make_node("Max", [f"{x}.high", f"{x}.negative", least], [f"{x}.most"])
    yield make_node("Div", [x, f"{x}.most"], [f"{x}.share"])
    yield make_node("QuantizeLinear", [f"{x}.share", step, zero], [f"{x}.uint8"])


def _product(x: str, weight: str, output: str) -> Iterator[Any]:
    """x @ weight in float32."""
    from onnx.helper import make_node

    rounded, scale, zeros = _names(weight)
    step, zero, _, _ = _SHARED
    given = [f"{x}.uint8", rounded, step, scale, zero, zeros]
    yield make_node(_PRODUCT, given, [f"{output}.steps"], domain=_DOMAIN)
    yield make_node("Mul", [f"{output}.steps", f"{x}.most"], [output])
