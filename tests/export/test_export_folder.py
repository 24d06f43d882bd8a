"""Exported models: the same scores as torch, whatever the shapes; readable without torch."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from readlet.errors import InputError
from readlet.export import export_folder as export_module
from readlet.export.export_folder import export_folder
from readlet.inference.calibration import Calibration
from readlet.inference.classifier import Classifier
from readlet.inference.reader import Reader
from readlet.models.onnx.model import OnnxModel
from readlet.models.onnx.scorer import OnnxSpanScorer
from readlet.models.recipe_files import recipe_of
from readlet.types import Example

Make = Callable[..., Any]
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
LAMP = "The lamp at Cape Wick was lit by Ada Brook in 1881. Fishermen paid for its oil."
PAIRS = [
    ("Who lit the lamp?", LAMP),
    ("Who?", "Ada."),
    ("Who paid?", " ".join([LAMP] * 6)),  # several windows
    ("When was the lamp at Cape Wick lit by Ada Brook?", LAMP),
    ("Who?", " \n "),
]


@pytest.fixture(scope="module")
def small(random_reader: Make, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A small reader, and its exported form."""
    folder = tmp_path_factory.mktemp("small")
    reader = random_reader(LAMP, null=True)
    reader.notice = "Lamps by Ada."
    reader.calibration = Calibration(temperature=2.0)
    reader.save(folder / "torch")
    export_folder(str(folder / "torch"), folder / "onnx")
    return folder / "torch", folder / "onnx"


def assert_same_answers(folder: Path, exported: Path) -> None:
    with_torch, without = Reader.load(folder, device="cpu"), Reader.load(exported)
    assert isinstance(without.scorer, OnnxSpanScorer)
    for size in (1, 2, 32):
        with_torch.batch_size = without.batch_size = size
        found = zip(with_torch.answer_batch(PAIRS), without.answer_batch(PAIRS), strict=True)
        for expected, given in found:
            assert (given.text, given.start, given.end) == (
                expected.text,
                expected.start,
                expected.end,
            )
            assert given.score == pytest.approx(expected.score, abs=1e-4)
            assert given.no_answer == pytest.approx(expected.no_answer, abs=1e-4)


def test_small_reader(small: tuple[Path, Path]) -> None:
    folder, exported = small
    assert_same_answers(folder, exported)
    loaded = Reader.load(exported)
    assert loaded.calibration.temperature == 2.0
    assert loaded.notice == "Lamps by Ada."
    assert loaded.scorer.parameters == Reader.load(folder, device="cpu").scorer.parameters
    card = (exported / "README.md").read_text("utf-8")
    assert "exported to ONNX, in float32" in card


@pytest.mark.parametrize(
    "changes",
    [
        {"model": {"character_filters": 0}},
        {"attention": {"softmax": "norm"}, "loss": {"softmax": "norm"}},
    ],
    ids=["words only", "NormSoftmax"],
)
def test_other_small_readers(random_reader: Make, tmp_path: Path, changes: dict[str, Any]) -> None:
    from readlet.models.qacnn.scorer import QacnnFamily

    plain = random_reader(LAMP)
    values = recipe_of(plain.recipe).model_dump()
    for section, fields in changes.items():
        values[section] |= fields
    recipe = type(recipe_of(plain.recipe)).model_validate(values)
    scorer = QacnnFamily().build(recipe, plain.scorer.encoder, can_abstain=False)
    Reader(scorer, recipe.model_dump(mode="json"), Calibration()).save(tmp_path / "torch")
    export_folder(str(tmp_path / "torch"), tmp_path / "onnx")
    assert_same_answers(tmp_path / "torch", tmp_path / "onnx")


@pytest.mark.parametrize("mix", ["last", "scalar", "scalar-softmax", "dot", "weighted", "encoder"])
def test_every_mix(random_encoder_reader: Make, tmp_path: Path, mix: str) -> None:
    random_encoder_reader(mix).save(tmp_path / "torch")
    export_folder(str(tmp_path / "torch"), tmp_path / "onnx")
    assert_same_answers(tmp_path / "torch", tmp_path / "onnx")


def test_norm_softmax_in_an_encoder(random_encoder_reader: Make, tmp_path: Path) -> None:
    from readlet.models.encoder.scorer import EncoderFamily

    plain = random_encoder_reader()
    norm = {"attention": {"softmax": "norm"}, "loss": {"softmax": "norm"}}
    recipe = type(recipe_of(plain.recipe)).model_validate(
        recipe_of(plain.recipe).model_dump() | norm
    )
    scorer = EncoderFamily().build(recipe, plain.scorer.encoder, can_abstain=True)
    Reader(scorer, recipe.model_dump(mode="json"), Calibration()).save(tmp_path / "torch")
    export_folder(str(tmp_path / "torch"), tmp_path / "onnx")
    assert_same_answers(tmp_path / "torch", tmp_path / "onnx")


def test_classifier_with_every_pooler(
    random_classifier: Path, tmp_path: Path, readlet: Make
) -> None:
    done = readlet(
        *("export", random_classifier, "--int8", "--out", tmp_path / "int8"),
    )
    assert done.code == 0, done.err
    export_folder(str(random_classifier), tmp_path / "onnx")
    texts = ["A fine lamp.", "x", " ".join([LAMP] * 4)]
    expected = list(Classifier.load(random_classifier, device="cpu").predict_batch(texts))
    for given, wanted in zip(
        Classifier.load(tmp_path / "onnx").predict_batch(texts), expected, strict=True
    ):
        assert given.probabilities == pytest.approx(wanted.probabilities, abs=1e-4)
    assert readlet("ask", "Who?", __file__, "--reader", tmp_path / "onnx").code == 2


def test_rounded_to_int8(small: tuple[Path, Path], tmp_path: Path, readlet: Make) -> None:
    folder, exported = small
    done = readlet("export", folder, "--int8", "--out", tmp_path / "out")
    assert done.code == 0, done.err
    rounded, whole = Reader.load(tmp_path / "out"), Reader.load(exported)
    assert "dev" not in rounded.metrics  # that was the unrounded reader
    rows = whole.scorer.encoder.encode([Example("1", *PAIRS[0])])
    ((_, a),), ((_, b),) = (list(r.scorer.scores(rows, 1)) for r in (rounded, whole))
    assert 0 < np.abs(a.start - b.start).max() < 0.5


def test_other_scores_are_refused(
    small: tuple[Path, Path], tmp_path: Path, readlet: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = OnnxModel.run

    def wrong(self: OnnxModel, arrays: Any) -> Any:
        found = run(self, arrays)
        return found | {"end": found["end"] + np.float32(1e-3)}

    monkeypatch.setattr(OnnxModel, "run", wrong)
    done = readlet("export", small[0], "--out", tmp_path / "out")
    assert done.code == 2
    assert "differ from torch by 0.001" in done.err
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_exported(small: tuple[Path, Path], tmp_path: Path, readlet: Make) -> None:
    def fault(*words: object) -> str:
        done = readlet("export", *words, "--out", tmp_path / "out")
        assert done.code == 2
        assert not (tmp_path / "out").exists()
        (line,) = done.err.splitlines()
        return str(line)

    assert "is exported already" in fault(small[1])
    assert "has no network to export" in fault("baseline")
    assert "no reader there" in fault(tmp_path / "nowhere")
    slim = readlet("slim", small[1], "--out", tmp_path / "out")
    assert "cannot be slimmed" in slim.err


def damage_onnx(folder: Path) -> None:
    whole = bytearray((folder / "model.onnx").read_bytes())
    whole[len(whole) // 2] ^= 1
    (folder / "model.onnx").write_bytes(whole)


def truncate_words(folder: Path) -> None:
    (folder / "vocabulary.json").write_text("{")


def change_config(folder: Path, **changes: Any) -> None:
    config = json.loads((folder / "config.json").read_text())
    config["exported"] |= changes
    (folder / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize(
    ("damage", "names"),
    [
        (damage_onnx, "model.onnx: is damaged"),
        (lambda folder: (folder / "model.onnx").unlink(), "model.onnx: is missing"),
        (truncate_words, "vocabulary.json"),
        (lambda folder: change_config(folder, precision="int3"), "config.json: is damaged"),
        (lambda folder: change_config(folder, facts=None), "config.json: is damaged"),
        (lambda folder: change_config(folder, first_layers="a digest"), "config.json: is damaged"),
        (lambda folder: (folder / "config.json").unlink(), "no reader there"),
        (lambda folder: (folder / "config.json").write_text("{}"), "config.json: format None"),
    ],
)
def test_damage(
    small: tuple[Path, Path], tmp_path: Path, readlet: Make, damage: Make, names: str
) -> None:
    shutil.copytree(small[1], tmp_path / "copy")
    (tmp_path / "lamp.txt").write_text(LAMP)
    damage(tmp_path / "copy")
    done = readlet("ask", "Who?", tmp_path / "lamp.txt", "--reader", tmp_path / "copy")
    assert done.code == 2
    (line,) = done.err.splitlines()
    assert names in line


def test_nothing_needs_torch(
    small: tuple[Path, Path], random_classifier: Path, random_encoder_reader: Make, tmp_path: Path
) -> None:
    """Asking and serving exported readers of both kinds and a classifier, in one process."""
    pytest.importorskip("fastapi.testclient")
    random_encoder_reader("last").save(tmp_path / "torch")
    export_folder(str(tmp_path / "torch"), tmp_path / "encoder")
    export_folder(str(random_classifier), tmp_path / "classifier")
    (tmp_path / "lamp.txt").write_text(LAMP)
    folders = [str(small[1]), str(tmp_path / "encoder"), str(tmp_path / "classifier")]
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_TORCH, str(tmp_path / "lamp.txt"), *folders],
        capture_output=True,
        text=True,
        check=True,
    )
    *asked, small_answer, encoder_answer, label, loaded = done.stdout.splitlines()[-6:]
    assert asked == ["0", "0"]
    for folder, answer in zip(folders, (small_answer, encoder_answer), strict=False):
        assert (
            json.loads(answer)["text"]
            == Reader.load(folder).answer(*PAIRS[0], n_best=1, min_confidence="always").text
        )
    assert json.loads(label)["label"] == Classifier.load(folders[2]).predict("A fine lamp.").label
    assert loaded == "[True, True, False, False]"


_WITHOUT_TORCH = """
import contextlib, io, json, sys
from readlet.cli import main
passage, *folders = sys.argv[1:]
for folder in folders[:2]:
    sys.argv = ["readlet", "ask", "Who?", passage, "--reader", folder]
    try:
        with contextlib.redirect_stdout(io.StringIO()): main()
    except SystemExit as ending: print(ending.code)
from fastapi.testclient import TestClient
from readlet.serve.app import make_app
from readlet.serve.messages import Limits
from readlet.serve.batching import Counters
from readlet.serve.registry import load_models, serve_models
counters = Counters()
models = serve_models(load_models(folders, "auto"), Limits(), counters)
with TestClient(make_app(models, Limits(), counters, key="", hosts=None)) as client:
    question = {"question": "Who lit the lamp?", "passage": open(passage).read()}
    question["min_confidence"] = "always"
    for name in models.readers:
        (found,) = client.post("/answer", json=question | {"reader": name}).json()["answers"]
        print(json.dumps(found))
    (found,) = client.post("/classify", json={"text": "A fine lamp."}).json()["predictions"]
    print(json.dumps(found))
models.close()
print([name in sys.modules for name in ("fastapi", "onnxruntime", "torch", "transformers")])
"""


def test_the_second_of_two_exports_to_a_folder_is_told(
    small: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is written, whole; the other one is an error, at once."""
    folder, out = str(small[0]), tmp_path / "out"
    load = export_module._load

    def load_late(name: str) -> Any:
        monkeypatch.setattr(export_module, "_load", load)
        with pytest.raises(InputError) as caught:
            export_folder(folder, out)
        assert caught.value.source == out
        return load(name)

    monkeypatch.setattr(export_module, "_load", load_late)
    export_folder(folder, out)
    assert_same_answers(small[0], out)
    with pytest.raises(InputError):  # it is not replaced afterwards
        export_folder(folder, out)
