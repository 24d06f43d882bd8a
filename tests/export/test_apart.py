"""Readers whose first layers read question and passage apart, as two graphs."""

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from readlet.errors import ReadletError
from readlet.export.export_folder import export_folder
from readlet.export.graph_beside import add_graph
from readlet.families.onnx_apart import ApartGraph
from readlet.families.onnx_graph import OnnxGraph
from readlet.families.onnx_scorer import OnnxSpanScorer
from readlet.models.apart_reader import APART_KINDS
from readlet.reading.reader import Reader

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
LAMP = "The lamp at Cape Wick was lit by Ada Brook in 1881. Fishermen paid for its oil."
LONG = " ".join([LAMP] * 8)  # several windows
PAIRS = [
    ("Who lit the lamp?", LAMP),
    ("Who?", "Ada."),
    ("Who paid?", LONG),
    ("When was the lamp at Cape Wick lit by Ada Brook?", LAMP),
    ("Who?", " \n "),
]
Made = Callable[..., tuple[Path, Path]]


@pytest.fixture(scope="module")
def made(
    encoder_reader: Callable[..., tuple[Path, Any]], tmp_path_factory: pytest.TempPathFactory
) -> Made:
    """The folder of a reader, and that of its graphs; each is made once."""
    known: dict[tuple[str, str], Path] = {}

    def make(kind: str, mix: str = "last") -> tuple[Path, Path]:
        folder, _ = encoder_reader(kind, "model.apart_layers=1", f"model.mix={mix}")
        if (kind, mix) not in known:
            known[kind, mix] = tmp_path_factory.mktemp("graphs") / "onnx"
            assert export_folder(str(folder), known[kind, mix]).difference <= 1e-4
        return folder, known[kind, mix]

    return make


def scorer_of(reader: Reader) -> OnnxSpanScorer:
    assert isinstance(reader.scorer, OnnxSpanScorer)
    return reader.scorer


@pytest.mark.parametrize(
    ("kind", "mix"),
    [*((kind, "last") for kind in APART_KINDS), ("bert", "dot"), ("bert", "encoder")],
)
def test_answers_are_those_of_torch(made: Made, kind: str, mix: str) -> None:
    folder, exported = made(kind, mix)
    with_torch, without = Reader.load(folder, device="cpu"), Reader.load(exported)
    for size in (1, 2, 32):
        with_torch.batch_size = without.batch_size = size
        found = zip(with_torch.answer_batch(PAIRS), without.answer_batch(PAIRS), strict=True)
        for expected, given in found:
            assert (given.text, given.start) == (expected.text, expected.start)
            assert given.score == pytest.approx(expected.score, abs=1e-4)
            assert given.no_answer == pytest.approx(expected.no_answer, abs=1e-4)


def test_the_second_question_reads_no_passage_again(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, exported = made("bert")
    reader, fresh = Reader.load(exported), Reader.load(exported)
    scorer = scorer_of(reader)
    assert isinstance(scorer.graph, ApartGraph)
    read: list[int] = []  # the lengths of what the first layers read
    run = OnnxGraph.run

    def counting(graph: OnnxGraph, arrays: dict[str, Any]) -> Any:
        if "position" in arrays and arrays["position"][0]:
            read.append(arrays["tokens"].shape[1])
        return run(graph, arrays)

    monkeypatch.setattr(OnnxGraph, "run", counting)
    reader.answer("Who lit the lamp?", LONG)
    windows = len(read)
    assert windows > 2
    second = reader.answer("Who paid?", LONG)
    assert len(read) == windows
    assert scorer.kept is not None
    assert (scorer.kept.made_new, scorer.kept.used_again) == (windows, windows)
    assert fresh.answer("Who paid?", LONG) == second


def test_threads_share_what_is_kept(made: Made) -> None:
    _, exported = made("bert")
    reader, alone = Reader.load(exported), Reader.load(exported)
    scorer = scorer_of(reader)
    scorer.workers.threads = 2
    scorer.workers.prepare()
    pairs = [(question, f"{name}. {LAMP}") for name in "ABCD" for question in ("Who?", "When?")]
    wanted = [alone.answer(*pair) for pair in pairs]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            found = list(pool.map(lambda pair: reader.answer(*pair), pairs))
            for mine, other in zip(found, wanted, strict=True):
                assert mine.text == other.text
                assert mine.score == pytest.approx(other.score, abs=1e-5)
    assert scorer.kept is not None
    assert scorer.kept.used_again >= 16  # at least the second and the third time
    assert len(scorer.kept._made) == 4


def test_rounded_to_int8(made: Made, tmp_path: Path, few_questions: Path) -> None:
    import onnx

    folder, _ = made("bert")
    result = export_folder(str(folder), tmp_path / "int8", int8=True, dev=str(few_questions))
    files = sorted((tmp_path / "int8").glob("*.onnx"))
    assert [path.name for path in files] == ["first_layers.onnx", "model.onnx"]
    assert result.bytes == sum(path.stat().st_size for path in files)
    for path in files:
        assert "MatMulInteger" in {node.op_type for node in onnx.load(path).graph.node}
    assert result.after.keys() == result.before.keys()
    reader = Reader.load(tmp_path / "int8")
    assert reader.answer("Who?", LAMP, always_answer=True).text
    reader.save(tmp_path / "again")
    assert Reader.load(tmp_path / "again").answer("Who?", LAMP) == reader.answer("Who?", LAMP)


def test_damaged_or_missing_graphs(made: Made, tmp_path: Path) -> None:
    import shutil

    _, exported = made("bert")
    for name in ("first_layers.onnx", "model.onnx"):
        copy = shutil.copytree(exported, tmp_path / name)
        (copy / name).write_bytes((copy / name).read_bytes()[:-1])
        with pytest.raises(ReadletError, match=rf"{name}: is damaged"):
            Reader.load(copy)
    copy = shutil.copytree(exported, tmp_path / "config")
    text = (copy / "config.json").read_text("utf-8")
    assert '"apart_layers": 1' in text
    (copy / "config.json").write_text(text.replace('"apart_layers": 1', '"apart_layers": 0'))
    with pytest.raises(ReadletError, match=r"config\.json: is damaged .*apart_layers"):
        Reader.load(copy)


def test_graphs_beside_the_weights_keep_passages(
    random_encoder_reader: Callable[..., Reader], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACCELERATE_USE_CPU", "1")
    random_encoder_reader(apart=1).save(tmp_path / "reader")
    add_graph(tmp_path / "reader")
    reader = Reader.load(tmp_path / "reader")
    scorer = scorer_of(reader)
    assert isinstance(scorer.graph, ApartGraph)
    first = reader.answer("Who lit the lamp?", LAMP)
    read = []
    graph, run = scorer.graph.first, OnnxGraph.run

    def counted(self: OnnxGraph, arrays: Any) -> Any:
        if self is graph:
            read.append(arrays["tokens"].shape[1])
        return run(self, arrays)

    monkeypatch.setattr(OnnxGraph, "run", counted)
    assert reader.answer("Who lit the lamp?", LAMP) == first
    assert len(read) == 1  # the question only


def test_nothing_imports_torch(made: Made) -> None:
    _, exported = made("bert")
    code = (
        "import sys; from readlet import Reader; "
        f"reader = Reader.load({str(exported)!r}); "
        f"print(reader.answer('Who?', {LAMP!r}).n_best[0].text); "
        f"print(reader.answer('When?', {LAMP!r}).n_best[0].text); "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
