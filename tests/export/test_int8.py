"""Models rounded to int8 answer alone as they do in any batch."""

import random
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from readlet.bundled import corpus
from readlet.data import read_examples
from readlet.export.int8 import round_to_int8
from readlet.export.tracing import network_of
from readlet.inference.classifier import Classifier
from readlet.inference.reader import load_reader
from readlet.models.onnx.model import MODEL

pytest.importorskip("onnx")


def rounded(model: Any, folder: Path) -> Any:
    """The model as an ONNX model in int8."""
    from readlet.export.export_folder import trace_network, with_onnx

    network = network_of(model.scorer)
    assert network is not None
    trace_network(model, network, "it", folder / MODEL)
    round_to_int8(folder / MODEL, folder / "int8.onnx")
    return with_onnx(model, network, folder / "int8.onnx", "int8")


def test_the_bundled_reader_answers_alone_as_in_any_batch(tmp_path: Path) -> None:
    reader = rounded(load_reader("bundled", device="cpu"), tmp_path)
    examples = [
        replace(example, answers=()) for example in islice(read_examples(corpus("kinds-test")), 300)
    ]
    assert len(examples) == 300
    alone = [next(iter(reader.answer_batch([example]))) for example in examples]
    order = random.Random(1).sample(range(300), 300)
    shuffled = dict(zip(order, reader.answer_batch([examples[i] for i in order]), strict=True))
    for batch in (list(reader.answer_batch(examples)), [shuffled[i] for i in range(300)]):
        for given, expected in zip(batch, alone, strict=True):
            assert (given.text, given.start) == (expected.text, expected.start)
            assert given.score == pytest.approx(expected.score, abs=1e-5)
            assert given.no_answer == pytest.approx(expected.no_answer, abs=1e-5)


def test_a_classifier_answers_alone_as_in_any_batch(
    random_classifier: Path, tmp_path: Path
) -> None:
    model = rounded(Classifier.load(random_classifier, device="cpu"), tmp_path)
    texts = ["A fine lamp.", "x", "The lamp broke on the first day. " * 3, "Good, but dear!"] * 8
    together = list(model.predict_batch(texts))
    for text, found in zip(texts, together, strict=True):
        (alone,) = model.predict_batch([text])
        assert found.probabilities == pytest.approx(alone.probabilities, abs=1e-6)


def test_products_are_close_whatever_the_scale_of_a_token(tmp_path: Path) -> None:
    """One scale for all tokens would leave nothing of small ones."""
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    draw = np.random.default_rng(0)
    weight = draw.normal(size=(32, 5)).astype(np.float32)
    weight[:, 2] = 0.0
    x = draw.normal(size=(2, 3, 32)).astype(np.float32)
    x *= np.array([1e-3, 1.0, 1e3], np.float32)[:, None]
    x[1, 2] = 0.0
    shape = ["B", "L"]
    given = [("x", "w", "y"), ("x", "w", "z"), ("y", "v", "again")]  # a product of a product, too
    graph = helper.make_graph(
        [helper.make_node("MatMul", [a, b], [made]) for a, b, made in given],
        "products",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [*shape, 32])],
        [helper.make_tensor_value_info(made, TensorProto.FLOAT, None) for *_, made in given],
        [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(weight.T.copy(), "v")],
    )
    for opset in (17, 20):
        imports = [helper.make_opsetid("", opset)]
        onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=9), tmp_path / "f")
        round_to_int8(tmp_path / "f", tmp_path / "i")
        session = onnxruntime.InferenceSession(tmp_path / "i", providers=["CPUExecutionProvider"])
        y, z, again = session.run(None, {"x": x})
        expected = x @ weight
        size = np.linalg.norm(x, axis=-1, keepdims=True) * np.linalg.norm(weight, axis=0)
        assert (np.abs(y - expected) <= 0.02 * size + 1e-9).all()
        np.testing.assert_array_equal(y, z)
        assert again.shape == x.shape
