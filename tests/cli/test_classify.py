"""`readlet classify`, and `train` and `evaluate` with texts and labels."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.inference.classifier import Classifier

Run = Callable[..., Any]
Make = Callable[..., Any]


def test_a_text(readlet: Run, trained_classifier: Make) -> None:
    folder, made = trained_classifier()
    done = readlet("classify", folder, "The old lamp.", "--json")
    assert done.code == 0, done.err
    wanted = made.predict("The old lamp.")
    assert done.json()["label"] == wanted.label
    assert done.json()["probabilities"] == pytest.approx(wanted.probabilities)
    shown = readlet("classify", folder, "The old lamp.").out.splitlines()
    assert shown[0].split() == [f"{wanted.probability:.3f}", wanted.label]
    assert len(shown) == 2


def test_a_pair_and_a_value(readlet: Run, trained_classifier: Make) -> None:
    pairs, _ = trained_classifier("pairs")
    done = readlet("classify", pairs, "The old lamp.", "It is about the lamp.")
    assert done.code == 0, done.err
    assert {line.split()[1] for line in done.out.splitlines()} == {"no", "yes"}
    values, made = trained_classifier("numbers")
    done = readlet("classify", values, "The old lamp.")
    assert float(done.out) == pytest.approx(made.predict("The old lamp.").value, rel=1e-3)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "json"])
def test_a_file(
    readlet: Run, trained_classifier: Make, labelled_files: Make, tmp_path: Path, suffix: str
) -> None:
    folder, made = trained_classifier()
    data, out = labelled_files(), tmp_path / f"out.{suffix}"
    done = readlet("classify", folder, data, "--out", out)
    assert done.code == 0, done.err
    assert done.out == f"{out}: 40 texts with labels\n"
    texts = [line.split("\t")[0] for line in data.read_text().splitlines()[1:]]
    labels = [found.label for found in made.predict_batch(texts)]
    if suffix == "json":
        assert list(json.loads(out.read_text()).values()) == labels
    else:
        lines = out.read_text().splitlines()
        rows = list(csv.DictReader(lines)) if suffix == "csv" else [*map(json.loads, lines)]
        assert [row["text"] for row in rows] == texts
        assert [row["label"] for row in rows] == labels
        assert list(rows[0]) == ["id", "text", "label", "probability", "probabilities"]
    assert not list(tmp_path.glob("*.partial"))
    scored = readlet("evaluate", folder, data, "--against", out, "--json").json()
    assert scored["against"]["accuracy_difference"] == 0
    assert scored["against"]["missing"] == 0
    again = readlet("evaluate", "--predictions", out, data, "--json").json()
    assert again["accuracy"] == scored["accuracy"]
    assert again["confusion"] == scored["confusion"]


def test_an_interrupted_file_is_continued(
    readlet: Run, trained_classifier: Make, labelled_files: Make, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    folder, _ = trained_classifier()
    whole, out = tmp_path / "whole.jsonl", tmp_path / "out.jsonl"
    for module in ("classifier", "predict_file"):
        monkeypatch.setattr(f"readlet.inference.{module}.CHUNK", 8)
    assert readlet("classify", folder, labelled_files(), "--out", whole).code == 0
    scores, calls = Classifier.scores, []

    def stopping(classifier: Classifier, rows: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return scores(classifier, rows)

    monkeypatch.setattr(Classifier, "scores", stopping)
    assert readlet("classify", folder, labelled_files(), "--out", out).code == 130
    assert not out.exists()
    done = readlet("classify", folder, labelled_files(), "--out", out)
    assert "continues after 16 of 40 texts" in done.err
    assert out.read_bytes() == whole.read_bytes()


def test_bad_input_is_one_line(
    readlet: Run, trained_classifier: Make, labelled_files: Make, tmp_path: Path
) -> None:
    folder, _ = trained_classifier()
    data = labelled_files()
    other = tmp_path / "other.tsv"
    other.write_text("text\tlabel\nA lamp.\tblue\n")
    empty = tmp_path / "empty.tsv"
    empty.write_text("text\tlabel\nA lamp.\told\n \tnew\n")
    for words, fault in [
        (["ask", "Who?", data, "--reader", folder], str(folder)),
        (["classify", "bundled", "A lamp."], "bundled: "),
        (["classify", folder, data], "--out"),
        (["classify", folder, empty, "--out", tmp_path / "o.csv"], f"{empty}: "),
        (["evaluate", folder, other], "'blue'"),
        (["evaluate", folder, empty], "row '2': "),
        (["evaluate", folder, data, "--threshold", "0.5"], "--threshold"),
    ]:
        done = readlet(*words)
        assert done.code == 2, words
        assert fault in done.err
        assert len(done.err.strip().splitlines()) == 1
    assert not list(tmp_path.glob("o.*"))
