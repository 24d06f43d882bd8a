"""ONNX models: batches over several threads, and what they read of words."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from readlet.inference.reader import Reader
from readlet.models.onnx import model
from readlet.models.onnx.model import Workers
from readlet.models.qacnn.onnx_inputs import WordInputs
from readlet.models.recipe_files import load_recipe
from readlet.text.arrays import Arrays, Batches
from readlet.text.rows import Ints
from readlet.types import Example


class Model:
    """The model for one thread is another kind of object, so that a batch shows which it had."""

    def __init__(self, *, changed: bool = False) -> None:
        self.changed = changed

    def with_one_thread(self) -> Any:
        return None if self.changed else ("one thread", self)


@pytest.fixture(autouse=True)
def _two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "own_threads", lambda: 2)
    monkeypatch.setattr(model, "_PLACES_BEFORE_SECOND", 20)


def batches_of(*lengths: int) -> Batches[Arrays]:
    given = np.array(lengths, np.int32).reshape(-1, 1)  # (rows, 1)
    none = np.zeros(0, np.int32)
    return Batches(given, [(max(lengths),)], 32, lambda *_: {}, trainable=none)


def by(workers: Workers, batches: Batches[Arrays]) -> list[tuple[bool, list[int]]]:
    """Of each batch: whether a model of one thread computed it, and its rows."""

    def compute(model: Any, rows: Ints) -> tuple[bool, list[int]]:
        return isinstance(model, tuple), rows.tolist()

    return list(workers.each(batches, compute))


def test_few_places_do_not_load_a_second_model() -> None:
    workers = Workers(Model())  # type: ignore[arg-type]
    assert by(workers, batches_of(3, 5)) == [(False, [1, 0])]
    assert by(workers, batches_of(4, 6)) == [(False, [1, 0])]  # 18 so far
    assert by(workers, batches_of(4, 6)) == [(True, [1]), (True, [0])]
    assert by(workers, batches_of(9)) == [(False, [0])]  # one row: by all cores


def test_a_server_loads_both_at_the_start() -> None:
    workers = Workers(Model())  # type: ignore[arg-type]
    workers.prepare()
    assert by(workers, batches_of(4, 6)) == [(True, [1]), (True, [0])]


def test_batches_are_computed_at_once_and_returned_in_order() -> None:
    workers, both = Workers(Model()), threading.Barrier(2)  # type: ignore[arg-type]

    def compute(model: Any, rows: Ints) -> list[int]:
        both.wait(10)
        return rows.tolist()  # type: ignore[no-any-return]

    lengths = (600, 500, 550, 510, 520, 590, 530, 580, 540, 570, 560, 505)
    found = list(workers.each(batches_of(*lengths), compute))
    assert [lengths[row] for (row,) in found] == sorted(lengths, reverse=True)


def test_callers_share_the_cores() -> None:
    """While another one computes, a caller takes one core."""
    workers = Workers(Model())  # type: ignore[arg-type]
    by(workers, batches_of(30))
    entered, may_go = threading.Event(), threading.Event()

    def slowly(model: Any, rows: Ints) -> bool:
        entered.set()
        assert may_go.wait(10)
        return isinstance(model, tuple)

    first: list[bool] = []
    other = threading.Thread(target=lambda: first.extend(workers.each(batches_of(9), slowly)))
    other.start()
    assert entered.wait(10)
    assert by(workers, batches_of(9)) == [(True, [0])]
    may_go.set()
    other.join()
    assert first == [False]
    assert by(workers, batches_of(9)) == [(False, [0])]


def test_changed_files_are_not_read_again() -> None:
    workers = Workers(Model(changed=True))  # type: ignore[arg-type]
    assert by(workers, batches_of(30, 30)) == [(False, [0, 1])]


def test_a_model_knows_its_file(tmp_path: Path) -> None:
    from onnx import TensorProto, helper, save

    from readlet.models.onnx.model import OnnxModel

    def number(name: str) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1])

    node = helper.make_node("Neg", ["x"], ["y"])
    graph = helper.make_graph([node], "g", [number("x")], [number("y")])
    opset = [helper.make_opsetid("", 17)]
    path = tmp_path / "model.onnx"
    save(helper.make_model(graph, opset_imports=opset, ir_version=9), path)
    loaded = OnnxModel.load(path)
    again = loaded.with_one_thread()
    assert again is not None
    given = {"x": np.ones(1, np.float32)}
    assert again.run(given) == loaded.run(given)
    path.write_bytes(path.read_bytes() + b" ")
    assert loaded.with_one_thread() is None
    path.unlink()
    assert loaded.with_one_thread() is None


def test_forms_have_no_padding(random_reader: Callable[..., Reader]) -> None:
    """It would be read letter by letter."""
    context = "The keeper lit the lamp, and the lamp was seen from the cape."
    encoder = random_reader(context, null=True).scorer.encoder
    rows = encoder.encode([Example("", "Who lit the lamp?", context)] * 3)
    batches = WordInputs(encoder, load_recipe("qacnn").config(null_answer=True)).batches(rows, 3)
    numbers = np.arange(3, dtype=np.int32)
    arrays = batches.make(batches.least_shape(numbers), numbers, filled=False)
    used = np.unique(np.concatenate([arrays["context"], arrays["question"]], axis=1))
    assert len(arrays["forms"]) == used.max() + 1
    assert len(set(arrays["forms"].tolist())) == len(arrays["forms"])
