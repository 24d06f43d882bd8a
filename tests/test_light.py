"""The install without the extra `train`: what it does, and how it says what it lacks.

`make test-light` runs this file, and others that need no torch, on the built wheel.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(find_spec("torch") is not None, reason="torch is installed")

MODELS = Path(__file__).parent / "fixtures" / "models"
PASSAGE = "The kettle was patented in 1891 by Ada Brook."
INSTALL = "pip install 'readlet[train]'"
Run = Callable[..., Any]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "p.txt").write_text(PASSAGE)
    rows = f"id,question,context,answer\n1,When was the kettle patented?,{PASSAGE},1891\n"
    (tmp_path / "q.csv").write_text(rows)
    (tmp_path / "s.csv").write_text("id,text,label\n1,A splendid evening!,good\n2,Cold.,bad\n")
    return tmp_path


def test_nothing_heavy_is_installed() -> None:
    heavy = ("torch", "transformers", "accelerate", "scipy", "pandas")
    assert [name for name in heavy if find_spec(name)] == []


def test_questions_are_answered(readlet: Run, files: Path) -> None:
    answered = readlet("ask", "When was the kettle patented?", files / "p.txt").out
    assert answered.startswith("1891")
    done = readlet("predict", "bundled", files / "q.csv", "--out", files / "answers.json")
    assert done.code == 0
    assert json.loads((files / "answers.json").read_text())["1"] == "1891"
    scores = readlet("evaluate", "bundled", files / "q.csv", "--json").json()
    assert scores["exact"] == 100.0
    assert readlet("evaluate", MODELS / "exported", files / "q.csv").code == 0


def test_the_cpu_by_name_needs_no_torch(readlet: Run, files: Path) -> None:
    done = readlet("ask", "When was the kettle patented?", files / "p.txt", "--device", "cpu")
    assert done.out.startswith("1891")


def test_a_conversation(files: Path) -> None:
    command = [sys.executable, "-m", "readlet", "ask", "-i", files / "p.txt"]
    asked = "Who patented the kettle?\n"
    done = subprocess.run(command, input=asked, capture_output=True, text=True, check=True)
    assert "\nAda Brook" in done.stdout


def test_texts_are_classified(readlet: Run, files: Path) -> None:
    model = MODELS / "exported-classifier"
    done = readlet("classify", model, files / "s.csv", "--out", files / "labels.csv")
    assert done.code == 0
    assert "good" in (files / "labels.csv").read_text()
    assert readlet("evaluate", model, files / "s.csv").code == 0


def test_data_is_checked(readlet: Run, files: Path) -> None:
    assert readlet("data", "check", files / "q.csv").code == 0
    assert readlet("data", "convert", files / "q.csv", "--out", files / "q.json").code == 0


def test_the_demo_leaves_training_out(readlet: Run) -> None:
    done = readlet("demo")
    assert done.code == 0
    assert INSTALL in done.out


def test_the_pipeline_answers() -> None:
    from readlet.compat import pipeline

    found: Any = pipeline("question-answering")(question="When was it?", context=PASSAGE)
    assert found["answer"] == "1891"


def test_a_server_answers() -> None:
    from fastapi.testclient import TestClient

    from readlet.inference.reader import Reader
    from readlet.serve.app import make_app
    from readlet.serve.batching import Counters
    from readlet.serve.messages import Limits
    from readlet.serve.registry import serve_models

    limits, counters = Limits(), Counters()
    models = serve_models({"reader": Reader.load()}, limits, counters)
    try:
        client = TestClient(make_app(models, limits, counters), base_url="http://127.0.0.1")
        done = client.post("/answer", json={"question": "When was it?", "passage": PASSAGE})
    finally:
        models.close()
    assert done.json()["answers"][0]["n_best"][0]["text"] == "1891"


@pytest.mark.parametrize(
    "words",
    [
        ("train", "tiny"),
        ("train", "finetune", "--set", "data.train=q.csv"),
        ("export", "bundled", "--out", "exported"),
        ("slim", "bundled", "--out", "slim"),
        ("ask", "Who?", "p.txt", "--device", "cuda"),
        ("evaluate", MODELS / "qacnn", "q.csv"),
        ("evaluate", MODELS / "classifier", "s.csv"),
        ("classify", MODELS / "classifier", "s.csv", "--out", "labels.csv"),
        ("serve", MODELS / "encoder"),
    ],
    ids=lambda words: " ".join(map(str, words[:2])),
)
def test_what_needs_torch_says_so_in_one_line(
    readlet: Run, files: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[object, ...]
) -> None:
    monkeypatch.chdir(files)
    before = {*files.iterdir()}
    done = readlet(*words)
    assert done.code == 2
    (line,) = done.err.splitlines()
    assert line.endswith(INSTALL)
    assert line.index(": needs ") > len("readlet")  # what needs it is named
    assert {*files.iterdir()} == before


def test_functions_say_so_too() -> None:
    from readlet import Reader, ReadletError

    with pytest.raises(ReadletError, match="readlet\\[train\\]"):
        Reader.load(device="cuda")
    names: dict[str, Any] = {}
    exec("from readlet import *", names)
    with pytest.raises(ReadletError, match=r"train_reader: .*readlet\[train\]"):
        names["train_reader"]()
