"""`readlet data`: check, repair, show, convert, unanswerable questions."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from readlet.data import read_examples, read_labelled, write_examples
from readlet.data.columns import DataFormat
from readlet.types import Example, Span

Run = Callable[..., Any]


@pytest.fixture
def clean(tmp_path: Path, sound: list[Example]) -> Path:
    write_examples(tmp_path / "clean.json", sound)
    return tmp_path / "clean.json"


@pytest.fixture
def faulty(tmp_path: Path, sound: list[Example]) -> Path:
    """Every kind of fault that one file can have, and five answers with offsets shifted by one."""
    first = sound[0]
    shifted = [
        replace(first, id=f"shift-{n}", question=f"Number {n}?", answers=(Span(34, "Ada Brook"),))
        for n in range(5)
    ]
    examples = [
        *sound,
        *shifted,
        replace(first, id="nowhere", answers=(Span(0, "Bob Stone"),)),
        replace(first, id="blank", question="  "),
        replace(first, id="bell", context="\x07" + first.context, answers=(Span(34, "Ada Brook"),)),
        replace(first, id="flag", question="Flag?", is_impossible=True),
        replace(first, id="lamp-2", question="Same id?"),
        replace(first, id="cut", question="Cut?", answers=(Span(33, "Ada Broo"),)),
        replace(first, id="space", question="Space?", answers=(Span(32, " Ada Brook"),)),
    ]
    write_examples(tmp_path / "faulty.json", examples)
    return tmp_path / "faulty.json"


def test_clean_file(readlet: Run, clean: Path) -> None:
    done = readlet("data", "check", clean)
    assert done.code == 0
    assert done.err == ""
    assert "3 on 2 contexts" in done.out


def test_faulty_file(readlet: Run, faulty: Path) -> None:
    done = readlet("data", "check", faulty)
    assert done.code == 1
    # Three findings per kind are shown by default, all of them with --list.
    assert [f"shift-{n}" in done.out for n in range(5)] == [True, True, True, False, False]
    listed = readlet("data", "check", faulty, "--list")
    assert all(f"shift-{n}" in listed.out for n in range(5))
    assert listed.code == 1


def test_json(readlet: Run, faulty: Path) -> None:
    done = readlet("data", "check", faulty, "--json")
    assert done.code == 1
    (file,) = done.json()["files"]
    assert file["problems"] == {
        "misplaced answer": 5,
        "answer not in context": 1,
        "empty field": 1,
        "control character": 1,
        "contradictory flag": 1,
        "duplicate id": 1,
        "answer cuts a word": 1,
        "space around answer": 1,
        "repeated question": 1,
    }


@pytest.mark.parametrize("name", ["fixed.json", "fixed.jsonl.gz"])
def test_fix(readlet: Run, tmp_path: Path, faulty: Path, name: str) -> None:
    out = tmp_path / name
    done = readlet("data", "check", faulty, "--fix", out, "--json")
    assert done.code == 1  # two could not be repaired
    fixed = done.json()["fixed"]
    total = done.json()["files"][0]["questions"]
    assert fixed["written"] + sum(map(len, fixed["dropped"].values())) == total
    assert fixed["dropped"] == {
        "empty question": ["blank"],
        "none of its answers is in the context": ["nowhere"],
    }
    assert fixed["changed"]["answer moved to the nearest place"] == [f"shift-{n}" for n in range(5)]
    assert fixed["changed"]["control characters removed"] == ["bell"]

    again = readlet("data", "check", out, "--json")
    assert again.code == 0
    assert again.json()["wrong"] is False
    assert again.json()["files"][0]["questions"] == fixed["written"]
    by_id = {example.id: example for example in read_examples(out)}
    assert by_id["bell"].answers == (Span(33, "Ada Brook"),)
    assert by_id["shift-4"].answers == (Span(33, "Ada Brook"),)


def test_show(readlet: Run, clean: Path) -> None:
    done = readlet("data", "show", clean, "--n", 1)
    assert done.code == 0
    assert "lit by [Ada Brook] in 1881" in " ".join(done.out.split())
    assert "Cape Wick · en" in done.out
    assert "lamp-2" not in done.out
    done = readlet("data", "show", clean, "--id", "lamp-2")
    assert "Who sold the oil?" in done.out
    assert "no answer in this passage" in done.out
    assert "lamp-1" not in done.out


def test_an_unpaired_surrogate_is_found_and_repaired(
    readlet_process: Run, tmp_path: Path, squad_text: Callable[..., str]
) -> None:
    """It cannot be encoded as UTF-8, and must not cause a traceback."""
    question = {"id": "q\ud83d", "question": "What\ud83d?", "is_impossible": True}
    path, out = tmp_path / "half.json", tmp_path / "out.json"
    path.write_text(squad_text("Half \ude00.", [question]))
    for words in (["data", "check", path], ["data", "check", path, "--json"]):
        done = readlet_process(*words)
        assert (done.code, done.err) == (1, "")
        assert "q\\ud83d" in done.out
    assert readlet_process("data", "check", path, "--fix", out).code == 0
    (fixed,) = read_examples(out)
    assert (fixed.question, fixed.context) == ("What?", "Half .")


HEADER = "id;review;sentiment\n"
CLEAN = HEADER + "".join(f"r{n};Text {n};{'pos' if n % 3 else 'neg'}\n" for n in range(30))
NAMED = ("--column", "text=review", "--column", "label=sentiment")


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    path = tmp_path / "clean.csv"
    path.write_text(CLEAN)
    return path


@pytest.fixture
def faulty_labels(tmp_path: Path) -> Path:
    path = tmp_path / "faulty.csv"
    more = [
        "r1;;pos", "x1;Text 2;neg", "x2;Text 2;pos", "x3;too;many;cells", "x4;[b]rare;[/odd]",
        "x5;unlabelled;", "x6;Case;Pos", "x7;Case 2;Pos",
    ]  # fmt: skip
    path.write_text(CLEAN + "\n".join(more) + "\n")
    return path


def test_faulty_texts(readlet: Run, faulty_labels: Path) -> None:
    done = readlet("data", "check", faulty_labels, *NAMED, "--json")
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
    shown = " ".join(readlet("data", "check", faulty_labels, *NAMED, "--list").out.split())
    assert "[/odd] 1 (2.8%)" in shown


def test_convert_texts(readlet: Run, tmp_path: Path, labelled: Path) -> None:
    cola, out = tmp_path / "cola.tsv", tmp_path / "all.json"
    cola.write_text('a\t1\t\tA "good one.\n')
    done = readlet("data", "convert", labelled, "--out", tmp_path / "clean.tsv", *NAMED)
    assert (done.code, done.err) == (0, "")
    done = readlet("data", "convert", tmp_path / "clean.tsv", cola, "--out", out, "--json")
    assert done.json() == {"texts": 31}
    found = read_labelled(out)
    assert found[:30] == read_labelled(
        labelled, data_format=DataFormat({"text": "review", "label": "sentiment"})
    )
    assert (found[30].text, found[30].label) == ('A "good one.', "1")


def test_texts_and_questions_are_not_mixed(readlet: Run, tmp_path: Path, labelled: Path) -> None:
    for files in ((labelled, "bundled:dev"), ("bundled:dev", labelled)):
        done = readlet("data", "convert", *files, "--out", tmp_path / "out.jsonl")
        assert done.code == 2
        assert "contains " in done.err
        assert not (tmp_path / "out.jsonl").exists()


def keepers(count: int, title: str = "Cape Wick") -> list[Example]:
    """One question about each keeper of a lamp, each with its own paragraph."""
    return [
        Example(
            f"keeper-{letter}",
            f"When did keeper {letter} arrive?",
            f"Keeper {letter} of Cape Wick arrived in 188{number}.",
            (Span(33, f"188{number}"),),
            title=title,
        )
        for number, letter in enumerate("ABCDEFGHI"[:count])
    ]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    write_examples(tmp_path / "keepers.json", keepers(8))
    return tmp_path / "keepers.json"


def test_old_and_new_questions_are_written(readlet: Run, tmp_path: Path, source: Path) -> None:
    out = tmp_path / "out.json"
    done = readlet("data", "unanswerable", source, "--out", out)
    assert (done.code, done.err) == (0, "")
    assert "12 questions, 4 (33.3%) unanswerable." in " ".join(done.out.split())
    written = list(read_examples(out))
    assert [e for e in written if not e.is_impossible] == keepers(8)
    new = [e for e in written if e.is_impossible]
    assert len(new) == 4
    assert all(e.id.endswith("-elsewhere") and not e.answers for e in new)
    # One article of eight paragraphs, as before.
    assert out.read_text().count('"title"') == 1
    assert out.read_text().count('"context"') == 8
    assert '"version": "v2.0"' in out.read_text()
    assert readlet("data", "check", out).code == 0


def test_unreachable_share_is_reported(readlet: Run, tmp_path: Path, source: Path) -> None:
    lone = tmp_path / "lone.jsonl"
    text = "No one lit it."
    write_examples(
        lone,
        [Example(f"[lone]{n}", f"Who {n}?", text, (Span(0, "No one"),), title="X") for n in "abcd"],
    )
    words = ("data", "unanswerable", source, lone, "--overwrite", "--share", 0.75)
    words += ("--out", tmp_path / "out.json")
    shown = " ".join(readlet(*words).out.split())
    assert "20 questions, 8 (40.0%) unanswerable." in shown
    assert "not paired: 4 " in shown
    listed = readlet(*words, "--list").out
    assert all(f"[lone]{n}" in listed for n in "abcd")
