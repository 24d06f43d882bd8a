"""Scores of `readlet evaluate`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from readlet.bundled import corpus
from readlet.cli import app
from readlet.data import read_examples

TEST = str(corpus("test"))
SQUAD_DEV = Path(__file__).parents[3] / "shared" / "data" / "squad" / "dev-v1.1.json.gz"
SST2 = "sentence\tlabel\ngood\t1\nbad\t0\n"

Run = Callable[..., Any]
Write = Callable[[str, Any], str]
Line = Callable[..., str]


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


def test_probabilities_add_their_keys(write: Write) -> None:
    na_probs = {key: 0.1 if text else 0.9 for key, text in golds().items()}
    result = evaluate(
        *("--predictions", write("p.json", dict.fromkeys(golds(), "x")), TEST, "--json"),
        *("--na-probs", write("n.json", na_probs)),
    )
    shown = json.loads(result.stdout)
    assert shown["pr_oracle_ap"] == 100.0
    assert shown["NoAns_exact"] == 0.0
    assert shown["best_exact"] == 100.0 * shown["NoAns_total"] / shown["total"]
    others = {"best_f1", "best_exact_thresh", "best_f1_thresh", "pr_exact_ap", "pr_f1_ap"}
    assert others <= set(shown)


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


def test_printed_tables(write: Write) -> None:
    na_probs = write("n.json", dict.fromkeys(golds(), 0.5))
    result = evaluate("--predictions", write("p.json", golds()), "--na-probs", na_probs, TEST)
    assert result.exit_code == 0
    for expected in ("without answer", "95% interval", "100.00", "by question type"):
        assert expected in result.stdout


def test_rules_can_be_chosen(write: Write) -> None:
    row = {"id": "a", "question": "?", "context": "The end"}
    rows = write("rows.jsonl", row | {"answers": [{"text": "The", "answer_start": 0}]})
    predictions = write("p.json", {"a": ""})

    def f1_by(rules: str) -> float:
        result = evaluate("--predictions", predictions, rows, "--rules", rules, "--json")
        return float(json.loads(result.stdout)["f1"])

    assert (f1_by("1.1"), f1_by("2.0")) == (0.0, 100.0)


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
    allowed = readlet("evaluate", "--predictions", some, TEST, "--json", "--allow-missing")
    assert allowed.code == 0
    assert allowed.out == as_json.out


def test_the_baseline_and_its_saved_predictions_score_the_same(tmp_path: Path) -> None:
    saved = str(tmp_path / "saved.json")
    live = evaluate("baseline", TEST, "--save-predictions", saved, "--json")
    assert live.exit_code == 0
    again = json.loads(evaluate("--predictions", saved, TEST, "--json").stdout)
    assert again.items() <= json.loads(live.stdout).items()
    assert again["total"] == len(golds())
    assert again["missing"] == []
    assert 0 < again["f1"] < 100


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


def test_glue_predictions_are_compared(write: Write) -> None:
    rows = "".join(f"in\t{n % 2}\t\tWord {n}.\n" for n in range(20))
    data = write("dev.tsv", rows)
    right = {str(n + 1): n % 2 for n in range(20)}
    words = ("--predictions", write("p.json", right), data)
    wrong = write("q.json", {key: 1 - value for key, value in right.items()})
    found = json.loads(evaluate(*words, "--against", wrong, "--json").stdout)
    assert found["matthews_correlation"] == 100.0
    assert found["confidence_95"] == {"matthews_correlation": [100.0, 100.0]}
    assert found["against"]["matthews_correlation"] == -100.0
    assert found["against"]["matthews_correlation_difference"] == 200.0
    assert found["against"]["matthews_correlation_p"] < 0.001
    assert found["against"]["missing"] == 0
    shown = evaluate(*words, "--against", wrong).stdout
    assert "Matthews correlation  100.00  100.00 to 100.00" in shown
    assert "other predictions: Matthews correlation +200.00 (-100.00 there), p = 0.0" in shown


@pytest.fixture
def error_line(readlet: Run) -> Callable[..., str]:
    """The single line on standard error for invalid input."""

    def line(*words: str) -> str:
        done = readlet("evaluate", *words)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("readlet: ")
        assert done.err.count("\n") == 1, done.err
        printed: str = done.err
        return printed

    return line


@pytest.mark.parametrize(
    ("content", "expected"),
    [("{", "line 1, column 2"), ("", "empty"), ({"marie-curie-12": None}, "is None")],
    ids=["not JSON", "empty", "not a text"],
)
def test_bad_predictions(error_line: Line, write: Write, content: Any, expected: str) -> None:
    assert expected in error_line("--predictions", write("p.json", content), TEST)


def test_bad_probabilities(error_line: Line, write: Write) -> None:
    answers = write("p.json", golds())
    na_probs = dict.fromkeys(golds(), 0.5)
    first, second = list(golds())[:2]
    nan = write("nan.json", na_probs | {first: float("nan")})
    assert f"{first!r}: is nan" in error_line("--predictions", answers, "--na-probs", nan, TEST)
    del na_probs[second]
    fewer = write("fewer.json", na_probs)
    shown = error_line("--predictions", answers, "--na-probs", fewer, TEST)
    assert f"missing for 1 questions, the first is {second!r}" in shown


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
