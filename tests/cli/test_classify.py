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


def test_evaluate_shows_scores_confusion_and_calibration(
    readlet: Run, trained_classifier: Make, labelled_files: Make, tmp_path: Path
) -> None:
    folder, _ = trained_classifier()
    saved, plot = tmp_path / "saved.json", tmp_path / "plot.svg"
    done = readlet(
        "evaluate", folder, labelled_files(), "--against", folder,
        "--save-predictions", saved, "--plot", plot,
    )  # fmt: skip
    assert done.code == 0, done.err
    for expected in (
        *("Accuracy", "Macro F1", "40 texts", "how often they were predicted as", "by confidence"),
        *("expected calibration error", "against the other predictions: Accuracy +0.00"),
    ):
        assert expected in done.out
    assert len(json.loads(saved.read_text())) == 40
    assert plot.read_text().lstrip().startswith("<")
    values, _ = trained_classifier("numbers")
    done = readlet("evaluate", values, labelled_files("numbers"))
    assert "Pearson correlation" in done.out
    assert "mean squared error" in done.out


def test_bad_input_is_one_line(
    readlet: Run, trained_classifier: Make, labelled_files: Make, tmp_path: Path
) -> None:
    folder, _ = trained_classifier()
    data = labelled_files()
    other = tmp_path / "other.tsv"
    other.write_text("text\tlabel\nA lamp.\tblue\n")
    empty = tmp_path / "empty.tsv"
    empty.write_text("text\tlabel\nA lamp.\told\n \tnew\n")
    few = tmp_path / "few.json"
    few.write_text('{"1": "blue"}')
    for words, message in [
        (["ask", "Who?", data, "--reader", folder], "is a classifier, not a reader; ask it with"),
        (["classify", "bundled", "A lamp."], "no classifier there"),
        (["classify", folder, "A", "B", "C"], "give a text, or two for a classifier of pairs"),
        (["classify", folder, data], "is a file; name an output for its labels with --out"),
        (["classify", folder, data, data, "--out", tmp_path / "o.csv"], "give one file of texts"),
        (["classify", folder, data, "--out", tmp_path / "o.xls"], "unknown output format"),
        (["classify", folder, empty, "--out", tmp_path / "o.csv"], "the text is empty"),
        (["evaluate", folder, other], "label 'blue' is none of the classes ('new', 'old')"),
        (["evaluate", folder, empty], "row '2': the text is empty"),
        (["evaluate", folder, data, "--threshold", "0.5"], "a classifier; omit --threshold"),
        (["evaluate", folder, data, "--against", few], "id '1': is 'blue'; give new or old"),
        (["slim", folder, "--out", tmp_path / "s", "--dev", data], "score the copy with"),
    ]:
        done = readlet(*words)
        assert done.code == 2, words
        assert message in done.err
        assert len(done.err.strip().splitlines()) == 1
    assert not list(tmp_path.glob("o.*"))


TRAIN = [
    ("text\tlabel\na\told\nb\told\nc\told\n", (), "only one class: all labels are 'old'"),
    ("text\tlabel\na\told\n\tnew\n", (), "the text is empty; correct or remove the row"),
    ("text\tlabel\na\told\nb\tnew\tmore\ttabs\n", (), "line 3: 4 cells under 2 column names"),
    (
        "text\tlabel\na\t1.5\nb\tx\nc\t2\n",
        ("data.labels=numbers", "data.metrics=[]"),
        "label 'x' is not a number",
    ),
    ("text\tnote\na\tx\n", (), "its texts have no labels"),
    ("text\tlabel\na\told\nb\tnew\n", ("model.pooler=median",), "model.pooler"),
    ("text\tlabel\na\told\nb\tnew\n", ("data.metrics=pearson",), "pearson does not suit"),
    ("text\tlabel\na\told\nb\tnew\n", ("data.max_length=600",), "lower it"),
    ("text\tlabel\na\t1\nb\t2\nc\t3\nd\t3\n", ("data.metrics=f1",), "take macro_f1"),
    ("question\tcontext\nq\tc\n", (), "contains questions, not texts with labels"),
]


@pytest.mark.parametrize(("text", "changes", "message"), TRAIN, ids=[case[2] for case in TRAIN])
def test_training_data_that_cannot_be_learned(
    readlet: Run, tiny_encoder: Make, tmp_path: Path, text: str, changes: tuple[str, ...],
    message: str,
) -> None:  # fmt: skip
    data, out = tmp_path / "mine.tsv", tmp_path / "run"
    data.write_text(text)
    words = [f"data.train={data}", "data.dev=", f"model.encoder={tiny_encoder()}", *changes]
    done = readlet("train", "cola", "--out", out, *(w for c in words for w in ("--set", c)))
    assert done.code == 2
    assert message in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert not out.exists()


def test_labels_of_dev_that_were_never_trained(
    readlet: Run, classifier_recipe: Make, labelled_files: Make, tiny_encoder: Make, tmp_path: Path
) -> None:
    dev = tmp_path / "dev.csv"
    dev.write_text("text,label\nA lamp.,old\nA tower.,tall\n")
    words = [f"data.train={labelled_files()}", f"data.dev={dev}", f"model.encoder={tiny_encoder()}"]
    done = readlet(
        "train", "sst2", "--out", tmp_path / "r", *(w for c in words for w in ("--set", c))
    )
    assert done.code == 2
    assert f"{dev}: row '2': label 'tall' is none of the classes ('new', 'old')" in done.err


def test_training_reports_balance_and_long_texts(
    readlet: Run, tiny_encoder: Make, tmp_path: Path
) -> None:
    """Quotes in a TSV are plain characters; a class with one row is learned, never held out."""
    data, out = tmp_path / "mine.tsv", tmp_path / "run"
    lines = [f'The "old lamp {n}.\told' for n in range(40)] + [f"New {n}\tnew" for n in range(3)]
    lines += ["word " * 40 + "\tlong"]
    data.write_text("text\tlabel\n" + "\n".join(lines) + "\n")
    words = [
        *(f"data.train={data}", "data.dev=", f"model.encoder={tiny_encoder()}"),
        *("data.max_length=16", "training.epochs=1", "training.learning_rate=1e-6"),
        "data.metrics=[]",
    ]
    done = readlet("train", "cola", "--out", out, *(w for c in words for w in ("--set", c)))
    assert done.code == 0, done.err
    for expected in (
        "1 × long text: only its beginning is read",
        "3 classes in",
        "imbalanced classes: ",
        "1 × class with one row: 'long'",
        "on the held-out texts; the classifier is in",
    ):
        assert expected in done.err + done.out
    assert json.loads((out / "notes.json").read_text()) != {}
