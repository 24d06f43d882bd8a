"""`readlet evaluate`: readers, saved predictions, several files."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from readlet.bundled import corpus
from readlet.cli import app
from readlet.data import read_examples, write_examples
from readlet.types import Example

Run = Callable[..., Any]

RIGHT = {"lamp-1": "Ada Brook", "lamp-2": "", "puente-1": "1904"}


@pytest.fixture
def data(tmp_path: Path, sound: list[Example]) -> Path:
    write_examples(tmp_path / "dev.json", sound)
    return tmp_path / "dev.json"


def saved(folder: Path, content: object) -> Path:
    path = folder / "predictions.json"
    path.write_text(json.dumps(content))
    return path


def test_share_and_language(
    readlet: Run,
    tmp_path: Path,
    sound: list[Example],
    bundle: Callable[..., Path],
    random_reader: Callable[..., Any],
) -> None:
    bundle(replace(random_reader(*(e.context for e in sound), null=True), languages=("en",)))
    data, out = tmp_path / "plain.json", tmp_path / "out.jsonl"
    write_examples(data, [replace(example, language="") for example in sound])
    shares = ("--unanswerable-share", "0.999")
    scored = readlet("evaluate", "bundled", data, *shares, "--language", "de", "--json")
    assert "3 × passage or question in de" in scored.err
    assert scored.json()["HasAns_f1"] == 0.0
    made = readlet("predict", "bundled", data, *shares, "--language", "de", "--out", out)
    assert "3 of them without an answer" in made.out
    assert {json.loads(line)["unknown_language"] for line in out.read_text().splitlines()} == {"de"}
    done = readlet("evaluate", "bundled", data, "--language", "klingon")
    assert (done.code, "klingon" in done.err) == (2, True)


TEST = str(corpus("test"))
SQUAD_DEV = Path(__file__).parents[3] / "shared" / "data" / "squad" / "dev-v1.1.json.gz"
SST2 = "sentence\tlabel\ngood\t1\nbad\t0\n"

Write = Callable[[str, Any], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write an object as JSON, or a text as it is; returns the path."""

    def write_file(name: str, content: Any) -> str:
        path = tmp_path / name
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write_file


def evaluate(*words: str) -> Result:
    return CliRunner().invoke(app, ["evaluate", *words])


def golds() -> dict[str, str]:
    return {e.id: e.answers[0].text if e.answers else "" for e in read_examples(TEST)}


def test_perfect_predictions_as_json(write: Write) -> None:
    result = evaluate("--predictions", write("p.json", golds()), TEST, "--json")
    assert result.exit_code == 0
    shown = json.loads(result.stdout)  # one object and nothing else
    total = len(golds())
    impossible = sum(not text for text in golds().values())
    assert {key: shown[key] for key in shown if key not in ("breakdown", "confidence_95")} == {
        "exact": 100.0,
        "f1": 100.0,
        "total": total,
        "HasAns_exact": 100.0,
        "HasAns_f1": 100.0,
        "HasAns_total": total - impossible,
        "NoAns_exact": 100.0,
        "NoAns_f1": 100.0,
        "NoAns_total": impossible,
        "missing": [],
    }
    assert shown["confidence_95"] == {"exact": [100.0, 100.0], "f1": [100.0, 100.0]}
    assert set(shown["breakdown"]) == {"question type", "answer words", "context words"}


def test_against_other_predictions(write: Write) -> None:
    good, bad = write("p.json", golds()), write("q.json", dict.fromkeys(golds(), "x"))
    shown = json.loads(evaluate("--predictions", good, TEST, "--against", bad, "--json").stdout)
    assert shown["against"]["exact"] == 0.0
    assert shown["against"]["exact_difference"] == 100.0
    assert shown["against"]["exact_p"] < 0.01
    same = json.loads(evaluate("--predictions", good, TEST, "--against", good, "--json").stdout)
    assert same["against"]["f1_p"] == 1.0
    assert same["against"]["f1_difference"] == 0.0
    assert "p = 1.0000" in evaluate("--predictions", good, TEST, "--against", good).stdout


def test_missing_predictions_are_listed_and_change_the_exit_code(
    readlet: Run, write: Write
) -> None:
    absent = list(golds())[2:9]
    some = write("p.json", {key: text for key, text in golds().items() if key not in absent})
    as_json = readlet("evaluate", "--predictions", some, TEST, "--json")
    assert as_json.code == 1
    shown = as_json.json()
    assert shown["missing"] == absent
    assert shown["exact"] == pytest.approx(100.0 * (1 - len(absent) / len(golds())))


def test_glue(write: Write) -> None:
    data = write("dev.tsv", SST2)
    full = evaluate("--predictions", write("p.json", {"1": 1, "2": 1}), data, "--json")
    assert full.exit_code == 0
    found = json.loads(full.stdout)
    low, high = found.pop("confidence_95")["accuracy"]
    assert 0 <= low < 50 < high <= 100
    assert found.pop("confusion") == {"0": {"0": 0, "1": 1}, "1": {"0": 0, "1": 1}}
    assert found == {"accuracy": 50.0, "total": 2, "missing": []}
    some = evaluate("--predictions", write("p.json", {"1": 1}), data)
    assert some.exit_code == 1
    assert "Accuracy  50.00  0.00 to 100.00" in some.stdout


@pytest.mark.skipif(not SQUAD_DEV.exists(), reason="the SQuAD 1.1 dev set is not here")
def test_the_whole_dev_set(readlet: Run, write: Write) -> None:
    last_golds = {e.id: e.answers[-1].text for e in read_examples(SQUAD_DEV)}
    predictions = write("p.json", last_golds)
    done = readlet("evaluate", "--predictions", predictions, SQUAD_DEV, "--json")
    shown = done.json()
    assert done.code == 0
    assert (shown["exact"], shown["total"]) == (100.0, len(last_golds))
    # One gold is a full stop, which normalises to empty text: by the 1.1 rules its F1 is 0.
    assert shown["f1"] == pytest.approx(100.0 * (1 - 1 / len(last_golds)))
