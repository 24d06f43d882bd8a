"""`readlet data unanswerable`: the written file, the counts and the errors."""

from collections.abc import Callable
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


def test_seed_and_share(readlet: Run, tmp_path: Path, source: Path) -> None:
    def run(name: str, *words: object) -> tuple[Any, bytes]:
        out = ("--overwrite", "--out", tmp_path / name, "--json")
        done = readlet("data", "unanswerable", source, *out, *words)
        assert done.code == 0
        return done.json(), (tmp_path / name).read_bytes()

    summary, first = run("1.json", "--share", 0.2, "--seed", 3)
    assert (summary["questions"], summary["impossible"], summary["added"]) == (10, 2, 2)
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
    listed = readlet(*words, "--list").out
    assert all(f"[lone]{n}" in listed for n in "abcd")
