"""`readlet data unanswerable`: the written file, the counts and the errors."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from readlet.data import read_examples, write_examples
from readlet.types import Example, Span

Run = Callable[..., Any]


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
    shown = " ".join(done.out.split())
    assert "12 questions, 4 (33.3%) unanswerable." in shown
    assert "new: 4, paired with another paragraph of their article" in shown
    assert "needed" not in shown
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


def test_seed_and_share(readlet: Run, tmp_path: Path, source: Path) -> None:
    def run(name: str, *words: object) -> tuple[Any, bytes]:
        done = readlet(
            "data",
            "unanswerable",
            source,
            "--overwrite",
            "--out",
            tmp_path / name,
            "--json",
            *words,
        )
        assert done.code == 0
        return done.json(), (tmp_path / name).read_bytes()

    summary, first = run("1.json", "--share", 0.2, "--seed", 3)
    assert summary == {
        "questions": 10,
        "impossible": 2,
        "share": 0.2,
        "added": 2,
        "wanted": 2,
        "left": {},
    }
    assert run("2.json", "--share", 0.2, "--seed", 3)[1] == first
    assert len({run("3.json", "--share", 0.2, "--seed", seed)[1] for seed in range(5)}) > 1


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
    assert "not paired: 4 of an article with only one paragraph ([lone]" in shown
    assert "and 1 more)" in shown
    assert "36 would be needed: no question is paired twice" in shown
    listed = readlet(*words, "--list").out
    assert all(f"[lone]{n}" in listed for n in "abcd")


def test_share_that_the_data_already_has(readlet: Run, tmp_path: Path) -> None:
    """A quarter of the bundled questions are unanswerable."""
    out = tmp_path / "out.json"
    done = readlet("data", "unanswerable", "bundled:dev", "--out", out, "--share", 0.2)
    assert done.code == 0
    assert "no question was added: 25.0% is the nearest possible to 20.0%" in done.out
    assert list(read_examples(out)) == list(read_examples("bundled:dev"))


def test_column(readlet: Run, tmp_path: Path) -> None:
    path, out = tmp_path / "rows.csv", tmp_path / "out.json"
    path.write_text(
        "question,context,answer,page\nWho came?,Ada came.,Ada,t\nWho left?,Tom left.,Tom,t\n"
    )
    assert readlet("data", "unanswerable", path, "--out", out).code == 2
    done = readlet("data", "unanswerable", path, "--out", out, "--column", "title=page")
    assert done.code == 0
    assert sum(e.is_impossible for e in read_examples(out)) == 1


@pytest.mark.parametrize("share", ["0", "1", "33", "-0.5", "nan"])
def test_bad_share(readlet: Run, tmp_path: Path, source: Path, share: str) -> None:
    done = readlet("data", "unanswerable", source, "--out", tmp_path / "o.json", "--share", share)
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert f"share {float(share)}: not between 0 and 1; give a fraction such as 0.33" in line
    assert list(tmp_path.iterdir()) == [source]


@pytest.mark.parametrize(
    ("examples", "reason"),
    [
        (
            [replace(keepers(1)[0], id=f"again-{n}") for n in range(3)],
            "no question can be paired (3 of an article with only one paragraph)",
        ),
        (
            keepers(3, title=""),
            "no question can be paired (3 without a title, so the article is unknown)",
        ),
    ],
    ids=["one paragraph", "no titles"],
)
def test_no_article_with_two_paragraphs(
    readlet: Run, tmp_path: Path, examples: list[Example], reason: str
) -> None:
    source = tmp_path / "source.json"
    write_examples(source, examples)
    done = readlet("data", "unanswerable", source, "--out", tmp_path / "out.json")
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert line.startswith(f"readlet: {source}: {reason}; give articles with a title")
    assert list(tmp_path.iterdir()) == [source]


def test_bad_names(readlet: Run, tmp_path: Path, source: Path) -> None:
    done = readlet("data", "unanswerable", source, "--out", tmp_path / "out.txt")
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert "end the name in .json, .jsonl" in done.err
    done = readlet("data", "unanswerable", tmp_path / "absent", "--out", tmp_path / "out.json")
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert "no such file" in done.err
    assert list(tmp_path.iterdir()) == [source]


def test_repeated_ids_are_reported(readlet: Run, tmp_path: Path, source: Path) -> None:
    done = readlet("data", "unanswerable", source, source, "--out", tmp_path / "more.json")
    assert done.code == 0
    assert "readlet: 8 × repeated id: they repeat in the new file\n" in done.err
