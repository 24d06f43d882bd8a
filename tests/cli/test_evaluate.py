"""Exit codes and errors of `readlet evaluate`; scores are tested in test_evaluate_scores.py."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from readlet.data import write_examples
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


def test_a_reader_is_scored_by_position_if_ids_repeat(
    readlet: Run, tmp_path: Path, sound: list[Example]
) -> None:
    """Translations keep the ids of the original, and rows without ids are numbered per file."""
    known, other = tmp_path / "known.json", tmp_path / "other.json"
    write_examples(known, sound)
    write_examples(other, [replace(example, id="same") for example in sound])
    one = readlet("evaluate", "baseline", known, "--json")
    out = tmp_path / "answers.json"
    two = readlet("evaluate", "baseline", other, "--json", "--save-predictions", out)
    assert "readlet: 2 × repeated id: a number is appended\n" in two.err
    again = readlet("evaluate", other, "--predictions", out, "--json")
    assert (again.json()["f1"], again.json()["total"]) == (two.json()["f1"], 3)
    probabilities = tmp_path / "none.json"
    probabilities.write_text(json.dumps({"same": 0.0}))
    known_once = readlet("evaluate", "baseline", other, "--na-probs", probabilities, "--json")
    assert known_once.json()["total"] == 3
    assert one.json()["total"] == 3
    assert one.json()["f1"] > 0
    assert {k: one.json()[k] for k in ("exact", "f1", "total")} == {
        k: two.json()[k] for k in ("exact", "f1", "total")
    }


def test_one_prediction_for_several_questions_is_reported(
    readlet: Run, tmp_path: Path, sound: list[Example]
) -> None:
    write_examples(tmp_path / "same.json", [replace(example, id="same") for example in sound])
    given = saved(tmp_path, {"same": "1904"})
    done = readlet("evaluate", tmp_path / "same.json", "--predictions", given)
    assert done.code == 0
    assert "readlet: 2 × repeated id: one prediction for several questions\n" in done.err


def test_reader(readlet: Run, tmp_path: Path, data: Path) -> None:
    out = tmp_path / "answers.json"
    done = readlet("evaluate", "baseline", data, "--json", "--save-predictions", out)
    assert done.code == 0
    assert isinstance(done.json(), dict)
    assert set(json.loads(out.read_text())) == set(RIGHT)
    again = readlet("evaluate", data, "--predictions", out)
    assert again.code == 0
    assert "with answer" in again.out


def test_right_predictions(readlet: Run, tmp_path: Path, data: Path) -> None:
    done = readlet("evaluate", data, "--predictions", saved(tmp_path, RIGHT))
    assert done.code == 0
    assert "100.00" in done.out


def test_missing_predictions(readlet: Run, tmp_path: Path, data: Path) -> None:
    path = saved(tmp_path, {"lamp-1": "Ada Brook"})
    done = readlet("evaluate", data, "--predictions", path)
    assert done.code == 1
    assert "2 predictions are missing (counted as wrong): lamp-2, puente-1" in done.out
    assert readlet("evaluate", data, "--predictions", path, "--allow-missing").code == 0


def test_missing_predictions_to_compare_with(readlet: Run, tmp_path: Path, data: Path) -> None:
    other = tmp_path / "other.json"
    for given, reported in ((RIGHT, False), ({"lamp-1": "Ada Brook"}, True)):
        other.write_text(json.dumps(given))
        words = ("--predictions", saved(tmp_path, RIGHT), "--against", other)
        shown = " ".join(readlet("evaluate", data, *words).out.split())
        line = "2 of the other predictions are missing (counted as wrong)"
        assert (line in shown) == reported


def test_square_brackets_in_a_missing_id(
    readlet: Run, tmp_path: Path, sound: list[Example]
) -> None:
    path = tmp_path / "dev.json"
    write_examples(path, [replace(sound[0], id="[/b]7")])
    done = readlet("evaluate", path, "--predictions", saved(tmp_path, {}))
    assert done.code == 1
    assert "1 predictions are missing (counted as wrong): [/b]7" in done.out


def test_glue_file(readlet: Run, tmp_path: Path) -> None:
    rows = tmp_path / "dev.tsv"
    rows.write_text("sentence\tlabel\nfine\t1\npoor\t0\n")
    assert readlet("evaluate", rows, "--predictions", saved(tmp_path, {"1": 1, "2": 0})).code == 0
    done = readlet("evaluate", rows, "--predictions", saved(tmp_path, {"1": 1}), "--json")
    assert done.code == 1
    assert done.json()["missing"] == ["2"]
    assert readlet("evaluate", "baseline", rows).code == 2
    done = readlet("evaluate", rows, "--predictions", saved(tmp_path, {"1": True, "2": 0}))
    assert done.code == 2
    assert "id '1': is True; give 0 or 1 for every id" in done.err


@pytest.mark.parametrize(
    "option",
    [
        *(["--always-answer"], ["--threshold", "0"], ["--column", "question=q"]),
        *(["--rules", "1.1"], ["--na-probs", "p.json"]),
    ],
)
def test_options_for_questions_are_rejected_for_sentences(
    readlet: Run, tmp_path: Path, option: list[str]
) -> None:
    rows = tmp_path / "dev.tsv"
    rows.write_text("sentence\tlabel\nfine\t1\npoor\t0\n")
    done = readlet("evaluate", rows, "--predictions", saved(tmp_path, {"1": 1, "2": 0}), *option)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"readlet: {rows}: a GLUE file; omit {option[0]}\n"


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (["Ada Brook"], "is a list; write an object"),
        ({"lamp-1": 3}, "id 'lamp-1': is 3; give a text"),
    ],
)
def test_bad_predictions(
    readlet: Run, tmp_path: Path, data: Path, content: object, fault: str
) -> None:
    path = saved(tmp_path, content)
    done = readlet("evaluate", data, "--predictions", path)
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert line.startswith(f"readlet: {path}: {fault}")


def test_reader_and_predictions_are_exclusive(readlet: Run, tmp_path: Path, data: Path) -> None:
    for words in ([data], ["baseline", data, "--predictions", saved(tmp_path, RIGHT)]):
        done = readlet("evaluate", *words)
        assert done.code == 2
        assert "give READER DATA, or --predictions FILE DATA" in done.err


def test_data_without_questions(readlet: Run, tmp_path: Path) -> None:
    path = tmp_path / "none.json"
    write_examples(path, [])
    done = readlet("evaluate", "baseline", path)
    assert done.code == 2
    assert "contains no questions" in done.err


def test_bundled_reader(
    readlet: Run,
    tmp_path: Path,
    data: Path,
    sound: list[Example],
    bundle: Callable[..., Path],
    random_reader: Callable[..., Any],
) -> None:
    inside = random_reader(*(example.context for example in sound))
    bundle(inside)
    out = tmp_path / "answers.json"
    assert readlet("evaluate", "bundled", data, "--save-predictions", out).code == 0
    expected = {e.id: inside.answer(e.question, e.context).text for e in sound}
    assert json.loads(out.read_text()) == expected


def test_saved_predictions_are_those_that_are_scored(
    readlet: Run,
    tmp_path: Path,
    data: Path,
    sound: list[Example],
    bundle: Callable[..., Path],
    random_reader: Callable[..., Any],
) -> None:
    inside = random_reader(*(example.context for example in sound), null=True)
    bundle(inside)
    doubts = sorted(inside.answer(e.question, e.context).no_answer for e in sound)
    assert doubts[0] < doubts[-1]
    line = ("--threshold", (doubts[0] + doubts[-1]) / 2)
    out = tmp_path / "answers.json"
    scored = readlet("evaluate", "bundled", data, *line, "--save-predictions", out, "--json")
    refused = [text for text in json.loads(out.read_text()).values() if not text]
    assert 0 < len(refused) < len(sound)
    again = readlet("evaluate", data, "--predictions", out, "--json")
    assert again.json()["exact"] == scored.json()["exact"]
    assert again.json()["f1"] == scored.json()["f1"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--threshold", "nan"), "threshold: nan; give a number from 0 to 1"),
        (("--threshold", "7"), "threshold: 7.0; give a number from 0 to 1"),
        (("--plot", "no-such-folder/plot.svg"), "its folder does not exist"),
        (("--threshold", "0.5", "--always-answer"), "threshold: not together with always-answer"),
        (("--save-predictions", "no-such-folder/answers.json"), "its folder does not exist"),
    ],
)
def test_bad_options_are_reported_before_prediction(
    readlet: Run, data: Path, words: tuple[str, ...], message: str
) -> None:
    done = readlet("evaluate", "baseline", data, *words)
    assert done.code == 2
    assert message in done.err
    assert len(done.err.splitlines()) == 1  # no progress output


def test_several_files(readlet: Run, tmp_path: Path, data: Path, sound: list[Example]) -> None:
    write_examples(tmp_path / "other.json", sound[:2])
    done = readlet("evaluate", "baseline", data, tmp_path / "other.json")
    assert done.code == 0
    rows = [line.split() for line in done.out.splitlines()]
    assert [(row[0][-10:], row[1]) for row in rows[1:4]] == [
        (str(data)[-10:], "3"),
        ("other.json", "2"),
        ("together", "5"),
    ]
    listed = readlet("evaluate", "baseline", data, tmp_path / "other.json", "--json").json()
    assert [row["total"] for row in listed["files"]] == [3, 2]
    for words, message in (
        (("--plot", "p.svg"), "2 data files: these options are for one file; omit --plot"),
        (("--predictions", data), "give READER DATA"),
    ):
        done = readlet("evaluate", "baseline", data, tmp_path / "other.json", *words)
        assert (done.code, message in done.err) == (2, True)


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
    assert "3 × passage or question in de: the reader was trained on en only" in scored.err
    assert scored.json()["HasAns_f1"] == 0.0
    made = readlet("predict", "bundled", data, *shares, "--language", "de", "--out", out)
    assert (
        "3 of them without an answer, 3 in a language that the reader was not trained on"
        in made.out
    )
    assert {json.loads(line)["unknown_language"] for line in out.read_text().splitlines()} == {"de"}
    for words, message in (
        (("evaluate", data, "--predictions", out, *shares), "name a reader"),
        (("evaluate", data, "--predictions", out, "--language", "de"), "name a reader"),
        (("evaluate", "bundled", data, "--language", "klingon"), "give a code such as en"),
        (("predict", "bundled", data, "--language", "klingon", "--out", "x.json"), "give a code"),
    ):
        done = readlet(*words)
        assert (done.code, message in done.err) == (2, True)


def test_a_device_is_for_readers(readlet: Run, tmp_path: Path) -> None:
    done = readlet("evaluate", "--predictions", tmp_path / "p.json", "x.json", "--device", "cpu")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "--device: not with a file of predictions" in done.err
