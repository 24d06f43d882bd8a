"""`readlet data` for texts with labels: check, show, convert, split; what cannot be done."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.data import read_labelled
from readlet.data.columns import DataFormat

Run = Callable[..., Any]
HEADER = "id;review;sentiment\n"
CLEAN = HEADER + "".join(f"r{n};Text {n};{'pos' if n % 3 else 'neg'}\n" for n in range(30))
NAMED = ("--column", "text=review", "--column", "label=sentiment")


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    path = tmp_path / "clean.csv"
    path.write_text(CLEAN)
    return path


@pytest.fixture
def faulty(tmp_path: Path) -> Path:
    path = tmp_path / "faulty.csv"
    more = [
        "r1;;pos", "x1;Text 2;neg", "x2;Text 2;pos", "x3;too;many;cells", "x4;[b]rare;[/odd]",
        "x5;unlabelled;", "x6;Case;Pos", "x7;Case 2;Pos",
    ]  # fmt: skip
    path.write_text(CLEAN + "\n".join(more) + "\n")
    return path


def test_faulty_file(readlet: Run, faulty: Path) -> None:
    done = readlet("data", "check", faulty, *NAMED, "--json")
    assert done.code == 1
    (file,) = done.json()["files"]
    assert file["problems"] == {
        "malformed row": 1,
        "duplicate id": 1,
        "empty field": 1,
        "same text with two labels": 1,
        "repeated text": 1,
        "unlabelled text": 1,
        "class with one row": 1,
        "labels differ only in case": 1,
    }
    assert (file["sentences"], file["questions"], file["unlabelled"]) == (37, 0, 1)
    assert file["labels"] == {"Pos": 2, "[/odd]": 1, "neg": 11, "pos": 22}
    assert file["label_shares"]["neg"] == pytest.approx(11 / 36)
    shown = " ".join(readlet("data", "check", faulty, *NAMED, "--list").out.split())
    assert "[/odd] 1 (2.8%)" in shown


def test_convert(readlet: Run, tmp_path: Path, clean: Path) -> None:
    cola, out = tmp_path / "cola.tsv", tmp_path / "all.json"
    cola.write_text('a\t1\t\tA "good one.\n')
    done = readlet("data", "convert", clean, "--out", tmp_path / "clean.tsv", *NAMED)
    assert (done.code, done.err) == (0, "")
    done = readlet("data", "convert", tmp_path / "clean.tsv", cola, "--out", out, "--json")
    assert done.json() == {"texts": 31, "unlabelled": 0, "repeated_ids": 0}
    found = read_labelled(out)
    assert found[:30] == read_labelled(
        clean, data_format=DataFormat({"text": "review", "label": "sentiment"})
    )
    assert (found[30].text, found[30].label) == ('A "good one.', "1")


def test_texts_and_questions_are_not_mixed(readlet: Run, tmp_path: Path, clean: Path) -> None:
    for files in ((clean, "bundled:dev"), ("bundled:dev", clean)):
        done = readlet("data", "convert", *files, "--out", tmp_path / "out.jsonl")
        assert done.code == 2
        assert "not texts with labels" in done.err or "texts, not questions" in done.err
        assert not (tmp_path / "out.jsonl").exists()


def test_split(readlet: Run, tmp_path: Path) -> None:
    """The same text is in one part, whatever its label, case or spaces."""
    path, out = tmp_path / "rows.csv", tmp_path / "parts"
    rows = [f"Text {n % 20},{n % 3}" for n in range(60)] + ["text  7,9"]
    path.write_text("text,label\n" + "\n".join(rows) + "\n")
    done = readlet("data", "split", path, "--out", out, "--parts", "train=0.7,dev=0.3")
    assert (done.code, done.err) == (0, "")
    train, dev = (read_labelled(out / name) for name in ("train.csv", "dev.csv"))
    assert len(train) + len(dev) == 61
    assert sorted(s.id for s in train + dev) == sorted(str(n) for n in range(1, 62))
    keys = [{" ".join(s.text.lower().split()) for s in part} for part in (train, dev)]
    assert not keys[0] & keys[1]
    assert 35 <= len(train) <= 48
    again = readlet("data", "split", path, "--out", tmp_path / "b", "--json")
    assert sum(part["texts"] for part in again.json()["parts"]) == 61
    assert "questions" not in again.json()["parts"][0]
