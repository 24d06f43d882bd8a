"""`readlet data check` and `readlet data show`: exit codes, tables, JSON, repair."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from readlet.data import read_examples, write_examples
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


def test_column(readlet: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("id,question,passage,answer\n1,Who?,Nobody came.,Nobody\n")
    assert readlet("data", "check", path, "--column", "context=passage").code == 0
    assert "[Nobody] came." in readlet("data", "show", path, "--column", "context=passage").out


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


def test_show_sentences(readlet: Run, tmp_path: Path) -> None:
    path = tmp_path / "dev.tsv"
    path.write_text("sentence\tlabel\na [/b] day :snake:\t1\n")
    assert "1  a [/b] day :snake:" in readlet("data", "show", path).out


def test_text_is_printed_unchanged(readlet: Run, tmp_path: Path) -> None:
    """Square brackets are common in encyclopedias, and are markup for rich."""
    context = "The bell [note 1] rang :bell: twice [/b] at noon."
    example = Example(
        "[red]7[/x]",
        "What [b]rang[/c]?",
        context,
        (
            Span(4, "bell [note 1]"),
            Span(context.index("ice [/b]"), "ice [/b]"),
            Span(0, "[/nowhere]"),
        ),
        title="[/t]",
    )
    path = tmp_path / "[dim]marked[bold].json"
    write_examples(path, [example])
    shown = readlet("data", "show", path).out
    assert "[red]7[/x]" in shown
    assert "What [b]rang[/c]?" in shown
    assert "[/t]" in shown
    assert "[bell [note 1]] rang :bell: tw[ice [/b]] at noon." in shown
    assert "bell [note 1] | ice [/b] | [/nowhere]" in shown
    checked = readlet("data", "check", path)
    assert checked.code == 1
    assert "'ice [/b]' of 'twice [/b]'" in " ".join(checked.out.split())
    assert "'[/nowhere]' at 0" in checked.out
    fixed = readlet("data", "check", path, "--fix", tmp_path / "out.json")
    assert fixed.code == 0
    assert "answer not in context removed ([red]7[/x])" in " ".join(fixed.out.split())


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
