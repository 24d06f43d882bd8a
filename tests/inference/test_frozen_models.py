"""Stored models load and answer as on the day when they were stored.

`fixtures/models` is frozen: tiny folders of every kind with random weights, and what they answered
to a few questions. Where a format changes on purpose, only its files change.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from readlet.inference.classifier import Classifier
from readlet.inference.reader import Reader

FROZEN = Path(__file__).parents[1] / "fixtures" / "models"
CLASSIFIERS = ["classifier", "exported-classifier"]
READERS = ["encoder", "exported", "qacnn", "qacnn-refusing", "qacnn-slim"]
LAMP = "The lamp at Cape Wick was lit by Ada Brook in 1881. Fishermen paid for its oil."
PAIRS = [
    ("Who lit the lamp?", LAMP),
    ("When was the lamp at Cape Wick lit?", LAMP),
    ("Who paid for the oil?", " ".join([LAMP] * 4)),  # several windows
    ("¿Quién?", "Ada Brook, “naïve” 灯台 lamp."),
    ("Who?", "Ada."),
]
TEXTS = [("The soup was cold and the waiter rude.", None), ("A splendid evening!", None)]


def answers(reader: Any) -> list[dict[str, Any]]:
    return [
        {
            "text": found.text,
            "start": found.start,
            "end": found.end,
            "no_answer": found.no_answer,
            "best": [[span.text, span.start, span.score] for span in found.n_best],
        }
        for found in reader.answer_batch(PAIRS)
    ]


def labels(classifier: Any) -> list[dict[str, Any]]:
    asked = [text if second is None else (text, second) for text, second in TEXTS]
    found = classifier.predict_batch(asked)
    return [{"label": one.label, "probabilities": one.probabilities} for one in found]


def expected(name: str) -> Any:
    return json.loads((FROZEN / f"{name}.json").read_text("utf-8"))


def close(found: Any, wanted: Any) -> None:
    """Equal, except for the rounding of numbers."""
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys()
        found, wanted = list(found.values()), list(wanted.values())
    if isinstance(wanted, list):
        for one, other in zip(found, wanted, strict=True):
            close(one, other)
    elif isinstance(wanted, float):
        assert found == pytest.approx(wanted, rel=1e-3, abs=1e-7)
    else:
        assert found == wanted


def test_all_are_there() -> None:
    kinds = {path.name for path in FROZEN.iterdir() if path.is_dir()}
    assert kinds == {*READERS, *CLASSIFIERS}


@pytest.mark.parametrize("name", READERS)
def test_reader(name: str) -> None:
    close(answers(Reader.load(FROZEN / name, device="cpu")), expected(name))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifier(name: str) -> None:
    close(labels(Classifier.load(FROZEN / name, device="cpu")), expected("classifier"))


@pytest.mark.parametrize("name", [*READERS, *CLASSIFIERS])
def test_saved_again_it_has_the_same_weights(name: str, tmp_path: Path) -> None:
    loading: Any = Classifier.load if name in CLASSIFIERS else Reader.load
    loading(FROZEN / name, device="cpu").save(tmp_path)
    for path in (FROZEN / name).iterdir():
        if path.suffix in (".safetensors", ".onnx") or path.name == "vocabulary.json":
            assert (tmp_path / path.name).read_bytes() == path.read_bytes()
