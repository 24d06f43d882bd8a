"""`readlet predict`: formats, options and errors; resuming is tested in test_predict_resume.py."""

import csv
import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from readlet.bundled import corpus
from readlet.data import read_examples, write_examples
from readlet.inference.baseline import LexicalBaseline
from readlet.inference.reader import Reader
from readlet.types import Example

Run = Callable[..., Any]

KILN = "The old kiln stands in Hollow Lane. Ada Brook built it in 1881."
FIELDS = ["id", "question", "text", "start", "end", "score", "no_answer", "abstained"]
FIELDS.append("unknown_language")
TEXTS = ("id", "question", "text", "unknown_language")


@pytest.fixture
def unlabelled(tmp_path: Path) -> Path:
    path = tmp_path / "questions.csv"
    questions = ("Who built the kiln?", 'What "giraffe", though?', "When was it built?")
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "question", "passage"])
        writer.writerows([f"q{i}", question, KILN] for i, question in enumerate(questions, 1))
    return path


COLUMN = ("--column", "context=passage")


def rows_of(path: Path) -> list[dict[str, Any]]:
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    if ".jsonl" in path.name:
        return [json.loads(line) for line in text.splitlines()]
    rows: list[dict[str, Any]] = list(csv.DictReader(text.splitlines()))
    return [{k: v if k in TEXTS else json.loads(v) for k, v in row.items()} for row in rows]


@pytest.mark.parametrize("name", ["p.csv", "p.jsonl", "p.csv.gz", "p.jsonl.gz"])
def test_rows_have_everything_that_a_reader_predicts(
    readlet: Run, tmp_path: Path, unlabelled: Path, name: str
) -> None:
    out = tmp_path / name
    done = readlet("predict", "baseline", unlabelled, "--out", out, *COLUMN)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{out}: 3 predictions, 1 of them without an answer\n"
    rows = rows_of(out)
    assert [list(row) for row in rows] == [FIELDS] * 3
    for row, question in zip(
        rows, ("Who built the kiln?", None, "When was it built?"), strict=True
    ):
        expected = LexicalBaseline().answer(row["question"], KILN)
        assert question in (None, row["question"])
        assert {k: row[k] for k in FIELDS[2:]} == {k: getattr(expected, k) for k in FIELDS[2:]}
    assert [row["abstained"] for row in rows] == [False, True, False]
    assert rows[0]["text"] == KILN[rows[0]["start"] : rows[0]["end"]] == "Ada Brook"
    assert not out.with_name(f"{name}.partial").exists()


@pytest.mark.parametrize("name", ["p.csv", "p.jsonl"])
def test_best_answers_on_request(readlet: Run, tmp_path: Path, unlabelled: Path, name: str) -> None:
    out = tmp_path / name
    assert (
        readlet("predict", "baseline", unlabelled, "--out", out, *COLUMN, "--n-best", 2).code == 0
    )
    for row in rows_of(out):
        assert list(row) == [*FIELDS, "n_best"]
        assert len(row["n_best"]) == 2
        for candidate in row["n_best"]:
            assert KILN[candidate["start"] : candidate["end"]] == candidate["text"]
    assert rows_of(out)[0]["n_best"][0]["text"] == "Ada Brook"


def test_the_format_of_squad(readlet: Run, tmp_path: Path, unlabelled: Path) -> None:
    out, probabilities = tmp_path / "p.json", tmp_path / "na.json"
    words = ("predict", "baseline", unlabelled, "--out", out, *COLUMN)
    assert readlet(*words, "--na-probs", probabilities).code == 0
    assert json.loads(out.read_text())["q1"] == "Ada Brook"
    assert json.loads(out.read_text())["q2"] == ""
    assert list(json.loads(probabilities.read_text())) == ["q1", "q2", "q3"]
    assert json.loads(probabilities.read_text())["q2"] == 1.0


def test_thresholds(readlet: Run, tmp_path: Path, unlabelled: Path) -> None:
    def abstained(*options: object) -> list[bool]:
        out = tmp_path / "p.jsonl"
        words = ("--out", out, *COLUMN, "--overwrite", *options)
        assert readlet("predict", "baseline", unlabelled, *words).code == 0
        return [row["abstained"] for row in rows_of(out)]

    assert abstained() == [False, True, False]
    assert abstained("--threshold", 0) != abstained("--threshold", 1)
    assert abstained("--always-answer") == [False, False, False]


@pytest.mark.parametrize("name", ["bundled", "baseline"])
@pytest.mark.parametrize("suffix", ["json", "jsonl", "csv"])
def test_evaluate_scores_the_file_like_the_reader(
    readlet: Run,
    tmp_path: Path,
    bundle: Callable[..., Path],
    random_reader: Callable[..., Reader],
    name: str,
    suffix: str,
) -> None:
    examples = list(read_examples(corpus("test")))[:40]
    inside = random_reader(*(e.context for e in examples), null=True)
    bundle(inside)
    data, out, na = tmp_path / "dev.json", tmp_path / f"p.{suffix}", tmp_path / "na.json"
    write_examples(data, examples)
    live = readlet("evaluate", name, data, "--json").json()
    assert readlet("predict", name, data, "--out", out, "--na-probs", na).code == 0
    scored = readlet("evaluate", data, "--predictions", out, "--na-probs", na, "--json").json()
    same = ("exact", "f1", "total", "HasAns_exact", "HasAns_f1", "NoAns_exact", "NoAns_f1")
    assert {key: scored[key] for key in same} == {key: live[key] for key in same}
    if suffix != "json":  # the probabilities are in the rows too
        own = readlet("evaluate", data, "--predictions", out, "--na-probs", out, "--json").json()
        assert own == scored
    # Every best answer, and the threshold of the reader: the thresholds that are sought agree too.
    every = ("--out", out, "--na-probs", na, "--threshold", 1, "--overwrite")
    assert readlet("predict", name, data, *every).code == 0
    limit = inside.no_answer_threshold if name == "bundled" else LexicalBaseline.no_answer_threshold
    words = ("--predictions", out, "--na-probs", na, "--threshold", limit, "--json")
    scored = readlet("evaluate", data, *words).json()
    for key in (*same, "best_exact", "best_f1", "best_f1_thresh"):
        assert scored[key] == live[key], key


def test_repeated_ids_get_a_number_as_in_evaluate(
    readlet: Run, tmp_path: Path, sound: list[Example]
) -> None:
    data, out, saved = tmp_path / "same.json", tmp_path / "p.json", tmp_path / "saved.json"
    write_examples(data, [replace(example, id="same") for example in sound])
    done = readlet("predict", "baseline", data, "--out", out)
    assert done.err == "readlet: 2 × repeated id: a number is appended\n"
    assert readlet("evaluate", "baseline", data, "--save-predictions", saved).code == 0
    assert json.loads(out.read_text()) == json.loads(saved.read_text())
    assert list(json.loads(out.read_text())) == ["same", "same-2", "same-3"]


def test_odd_texts_survive(readlet: Run, tmp_path: Path) -> None:
    data = tmp_path / "odd.jsonl"
    row = {
        "id": 'a"\n,b',
        "question": "Who built\nthe «kiln»?",
        "context": KILN + " \u2028 Łódź \x00",
    }
    data.write_text(json.dumps(row) + "\n")
    for name in ("p.csv", "p.jsonl", "p.json"):
        assert readlet("predict", "baseline", data, "--out", tmp_path / name).code == 0
    assert json.loads((tmp_path / "p.json").read_text()) == {'a"\n,b': "Ada Brook"}
    with (tmp_path / "p.csv").open(newline="") as stream:
        (got,) = csv.DictReader(stream)
    assert (got["id"], got["question"], got["text"]) == ('a"\n,b', row["question"], "Ada Brook")
    assert json.loads((tmp_path / "p.jsonl").read_text())["id"] == 'a"\n,b'
    for name in ("p.csv", "p.jsonl", "p.json"):
        # The same prediction from every format.
        labelled = tmp_path / "labelled.jsonl"
        labelled.write_text(json.dumps(row | {"answer": "Ada Brook"}) + "\n")
        scored = readlet("evaluate", labelled, "--predictions", tmp_path / name, "--json")
        assert scored.json()["exact"] == 100.0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--out", "{folder}/p.txt"), "p.txt: "),
        (("--out", "{folder}/none/p.csv"), "none/p.csv: "),
        (("--out", "{folder}/link.csv", "--overwrite"), "link.csv: "),
        (("--out", "{folder}/p.json", "--n-best", "2"), "--n-best"),
        (("--out", "{folder}/p.csv", "--na-probs", "{folder}/p.csv"), "--out"),
        (("--out", "{folder}/p.csv", "--device", "gpu9"), "device 'gpu9'"),
    ],
)
def test_bad_options(
    readlet: Run, tmp_path: Path, unlabelled: Path, words: tuple[str, ...], message: str
) -> None:
    (tmp_path / "link.csv").symlink_to(unlabelled)
    before = unlabelled.read_text()
    given = [word.format(folder=tmp_path, data=unlabelled) for word in words]
    done = readlet("predict", "baseline", unlabelled, *given, *COLUMN)
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert message in line
    assert unlabelled.read_text() == before
    assert {path.name for path in tmp_path.iterdir()} == {"questions.csv", "link.csv"}
