"""`readlet predict`: formats, options and errors; after SIGKILL the same bytes as without."""

import csv
import gzip
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.bundled import corpus
from readlet.data import read_examples, write_examples
from readlet.inference.baseline import LexicalBaseline
from readlet.inference.reader import Reader
from readlet.storage.partial_lines import PartialLines

Run = Callable[..., Any]

KILN = "The old kiln stands in Hollow Lane. Ada Brook built it in 1881."
FIELDS = ["id", "question", "text", "start", "end", "score", "no_answer", "abstained"]
FIELDS += ["unknown_language", "certainty"]
TEXTS = ("id", "question", "text", "unknown_language", "certainty")


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
    # Of every best answer: the thresholds that are sought agree too.
    every = ("--out", out, "--na-probs", na, "--min-confidence", "always", "--overwrite")
    assert readlet("predict", name, data, *every).code == 0
    words = ("--predictions", out, "--na-probs", na, "--json")
    scored = readlet("evaluate", data, *words).json()
    for key in ("best_exact", "best_f1", "best_f1_thresh"):
        assert scored[key] == live[key], key


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


LAMP = "The lamp at Cape Wick was lit by Ada Brook in 1881. Fishermen paid for its oil. "
CHUNK = 8
# Small chunks and a pause for each question, so that the command can be killed inside.
SLOWLY = f"""
import time
import readlet.inference.reader, readlet.inference.predict_file
readlet.inference.reader.CHUNK = readlet.inference.predict_file.CHUNK = {CHUNK}
from readlet.storage.partial_lines import PartialLines
append = PartialLines.append
PartialLines.append = lambda self, record: (time.sleep(0.02), append(self, record))[1]
"""


@pytest.fixture
def reader(tmp_path: Path, random_reader: Callable[..., Reader]) -> Path:
    random_reader(LAMP, null=True).save(tmp_path / "reader")
    return tmp_path / "reader"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Questions of different lengths, so that chunks decide how they are batched."""
    path = tmp_path / "data.jsonl"
    pieces = LAMP.split()
    rows = [
        {
            "id": f"q{number % 37}",  # some ids repeat
            "question": f"{pieces[number % 15]} {pieces[number * 7 % 15]} {number}?",
            "context": LAMP * (1 + number * 5 % 3) + " ".join(pieces[: number % 11]),
        }
        for number in range(5 * CHUNK + 3)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("readlet.inference.predict_file.CHUNK", CHUNK)
    monkeypatch.setattr("readlet.inference.reader.CHUNK", CHUNK)


def kill_after(lines: int, path: Path, forked: Any, *words: object) -> None:
    """Run the command and kill it when its unfinished output has so many lines."""
    with forked.forked_readlet("predict", *words, first=SLOWLY) as process:
        end = time.monotonic() + 60
        while not path.exists() or path.read_bytes().count(b"\n") < lines:
            assert process.exitcode is None
            assert time.monotonic() < end
            time.sleep(0.005)
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL


def test_killed_twice_and_resumed_gives_the_same_bytes(
    readlet: Run, forked: Any, tmp_path: Path, reader: Path, data: Path
) -> None:
    whole, out = tmp_path / "whole.csv", tmp_path / "killed.csv"
    na_whole, na_out = tmp_path / "na-whole.json", tmp_path / "na.json"
    done = readlet("predict", reader, data, "--out", whole, "--na-probs", na_whole)
    assert done.code == 0, done.err
    assert done.out
    words = (reader, data, "--out", out, "--na-probs", na_out)
    partial = tmp_path / f"{out.name}.partial"
    kill_after(1 + CHUNK, partial, forked, *words)
    kill_after(1 + 3 * CHUNK, partial, forked, *words)
    assert not out.exists()
    # As if the last line had been cut while it was written.
    partial.write_bytes(partial.read_bytes()[:-5])
    done = readlet("predict", *words)
    assert done.code == 0, done.err
    assert f"readlet: {partial}: continues after {2 * CHUNK} of 43 questions\n" in done.err
    assert out.read_bytes() == whole.read_bytes()
    assert na_out.read_bytes() == na_whole.read_bytes()
    assert not partial.exists()


def test_another_reader_data_or_option_is_not_mixed_in(
    readlet: Run, tmp_path: Path, reader: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, partial = tmp_path / "p.csv", tmp_path / "p.csv.partial"
    append, left = PartialLines.append, iter(range(1 + CHUNK))

    def interrupted(self: PartialLines, record: Any) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        append(self, record)

    with monkeypatch.context() as patch:
        patch.setattr(PartialLines, "append", interrupted)
        assert readlet("predict", reader, data, "--out", out).code == 130
    before = partial.read_bytes()

    def fault(*words: object) -> str:
        done = readlet("predict", *words, "--out", out)
        assert (done.code, done.out) == (2, "")
        assert partial.read_bytes() == before
        line: str = done.err.splitlines()[-1]
        assert line.endswith("; remove it, or give another output")
        return line

    assert "with another min_confidence;" in fault(reader, data, "--min-confidence", 0.7)
    assert "with another n_best;" in fault(reader, data, "--n-best", 3)
    assert "with another reader, " in fault("baseline", data)
    changed = reader / "calibration.json"
    original = changed.read_text()
    changed.write_text(json.dumps(json.loads(original) | {"temperature": 2.0}))
    assert "with another reader;" in fault(reader, data)
    changed.write_text(original)
    data.write_text(data.read_text().replace("1881", "1882", 1))
    assert "with another data;" in fault(reader, data)


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """40 MB of questions in far less than 40 MB."""
    data, out = tmp_path / "data.jsonl", tmp_path / "p.jsonl"
    with data.open("w") as stream:
        for number in range(4000):
            row = {"question": f"Who lit lamp {number}?", "context": f"{number} " + LAMP * 125}
            stream.write(json.dumps(row) + "\n")
    assert data.stat().st_size > 38_000_000
    program = (
        "import resource, sys; from readlet.inference.baseline import LexicalBaseline\n"
        "from readlet.types import Prediction\n"
        "def answers(self, pairs, *_, **__):\n"
        "    for _ in pairs: yield Prediction.choose((), 1.0, 0.0)\n"
        "LexicalBaseline.answer_batch = answers\n"
        "from pathlib import Path; from readlet.inference.predict_file import predict_file\n"
        "predict_file('baseline', 'bundled:test', Path(sys.argv[2] + '.first.jsonl'))\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "predict_file('baseline', sys.argv[1], Path(sys.argv[2]))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    words = [sys.executable, "-c", program, str(data), str(out)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 12_000  # kB; chunks of text are 1 MiB
    assert len(out.read_text().splitlines()) == 4000
