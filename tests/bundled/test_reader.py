"""The reader that comes with the package."""

import os
import subprocess
import sys

import pytest

from readlet.bundled import bundled_reader
from readlet.cli.demo import ASKED_OF_BUNDLED
from readlet.data import read_examples
from readlet.evaluation.squad import score_questions, summary
from readlet.inference.reader import Reader

FOLDER = bundled_reader()


@pytest.fixture(scope="module")
def reader() -> Reader:
    return Reader.load()


def test_it_is_small_enough_to_bundle() -> None:
    assert sum(path.stat().st_size for path in FOLDER.rglob("*")) <= 25_000_000


def test_it_finds_answers_and_refuses(reader: Reader) -> None:
    """The questions of the demo: correct answers, and correct refusals."""
    by_id = {example.id: example for example in read_examples("bundled:test")}
    asked = [by_id[identity] for identity in ASKED_OF_BUNDLED]
    for example in asked:
        prediction = reader.answer(example.question, example.context)
        golds = [answer.text for answer in example.answers] or [""]
        assert prediction.text in golds, example.id
    assert sum(not example.answers for example in asked) == 2


def test_it_reads_tables_lists_and_notes(reader: Reader) -> None:
    """Passages unlike those of SQuAD, which the calibration has seen and the training has not."""
    examples = list(read_examples("bundled:kinds-dev"))[::8]
    asked = [(example.question, example.context) for example in examples]
    predictions = {e.id: p.text for e, p in zip(examples, reader.answer_batch(asked), strict=True)}
    scores = summary(score_questions(examples, predictions, "2.0"))
    assert scores["HasAns_f1"] > 65.0
    assert scores["NoAns_f1"] > 35.0


def test_it_answers_without_torch() -> None:
    """Where there is no GPU: its ONNX model is faster, and torch takes seconds to import."""
    pytest.importorskip("onnxruntime")
    program = """
import sys
from readlet.inference.reader import Reader
found = Reader.load().answer("Who lit the lamp?", "Ada lit the lamp at the cape.")
assert found.text == "Ada", found
assert "torch" not in sys.modules
"""
    environment = os.environ | {"ACCELERATE_USE_CPU": "1"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)


def test_its_graph_has_the_scores_of_torch(reader: Reader) -> None:
    with_torch = Reader.load(device="cpu")
    examples = list(read_examples("bundled:test"))[:6]
    asked = [(example.question, example.context) for example in examples]
    found = zip(reader.answer_batch(asked), with_torch.answer_batch(asked), strict=True)
    for one, other in found:
        assert (one.text, one.start) == (other.text, other.start)
        assert one.no_answer == pytest.approx(other.no_answer, abs=1e-4)


def test_its_graph_has_plain_attention() -> None:
    """An older one would be right, but slower: `add_onnx_model` of its folder makes a new one."""
    onnx = pytest.importorskip("onnx")
    nodes = onnx.load(FOLDER / "model.onnx", load_external_data=False).graph.node
    assert "IsNaN" not in {node.op_type for node in nodes}


def test_its_card_names_authors_and_licences(reader: Reader) -> None:
    card = (FOLDER / "README.md").read_text("utf-8")
    for text in ("SQuAD", "CC BY-SA 4.0", "Rajpurkar", "MiniLM", "Apache License 2.0", "Wang"):
        assert text in card
    assert reader.notice.strip() in card
    assert "before slimming" not in card  # the scores are its own
