"""`readlet evaluate`: readers, saved predictions, several files; scores stand apart."""

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
    assert one.json()["f1"] > 0
    assert {k: one.json()[k] for k in ("exact", "f1", "total")} == {
        k: two.json()[k] for k in ("exact", "f1", "total")
    }


def test_reader(readlet: Run, tmp_path: Path, data: Path) -> None:
    out = tmp_path / "answers.json"
    done = readlet("evaluate", "baseline", data, "--json", "--save-predictions", out)
    assert done.code == 0
    assert isinstance(done.json(), dict)
    assert set(json.loads(out.read_text())) == set(RIGHT)
    again = readlet("evaluate", data, "--predictions", out)
    assert again.code == 0
    assert "with answer" in again.out


def test_square_brackets_in_a_missing_id(
    readlet: Run, tmp_path: Path, sound: list[Example]
) -> None:
    path = tmp_path / "dev.json"
    write_examples(path, [replace(sound[0], id="[/b]7")])
    done = readlet("evaluate", path, "--predictions", saved(tmp_path, {}))
    assert done.code == 1
    assert "1 predictions are missing (counted as wrong): [/b]7" in done.out


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
        (("--threshold", "nan"), "threshold: "),
        (("--threshold", "0.5", "--always-answer"), "threshold: "),
        (("--save-predictions", "no-such-folder/answers.json"), "no-such-folder/answers.json: "),
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
