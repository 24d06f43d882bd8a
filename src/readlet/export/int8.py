"""An ONNX model with the weights of its matrix products rounded to int8.

What is multiplied with them is rounded while it runs, so no data is needed for it. Word
vectors and convolutions stay as they are.
"""

import logging
from pathlib import Path


def round_to_int8(source: Path, target: Path) -> None:
    """Write the rounded model."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    logging.disable(logging.WARNING)  # advice on how to prepare models of other makers
    try:
        quantize_dynamic(
            source,
            target,
            op_types_to_quantize=["MatMul"],
            nodes_to_exclude=_with_vectors(source),
            per_channel=True,
            # With 8 bits, sums of two products overflow on processors without VNNI.
            reduce_range=True,
            weight_type=QuantType.QInt8,
        )
    finally:
        logging.disable(logging.NOTSET)


def _with_vectors(source: Path) -> list[str]:
    """Names of products with a vector: onnxruntime has none of them in int8."""
    import onnx

    graph = onnx.load(source).graph
    vectors = {weight.name for weight in graph.initializer if len(weight.dims) < 2}
    return [node.name for node in graph.node if vectors.intersection(node.input)]
