"""`readlet data unanswerable --hard`: a reader chooses; without it the output is as before."""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from readlet.augment.hard_questions import Judged, doubt
from readlet.augment.unanswerable_questions import OTHER_PARAGRAPH, pair_up
from readlet.bundled import bundled_reader
from readlet.formats import read_examples, write_examples
from readlet.reading.reader import Reader
from readlet.types import Example, Span

Run = Callable[..., Any]
Build = Callable[..., Reader]

KEEPERS = "Keeper {} of Cape Wick arrived in 188{}."


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """One question about each of eight paragraphs; all can be paired, and none altered."""
    examples = [
        Example(
            f"keeper-{letter}",
            f"When did keeper {letter} arrive?",
            KEEPERS.format(letter, number),
            (Span(33, f"188{number}"),),
            title="Cape Wick",
        )
        for number, letter in enumerate("ABCDEFGH")
    ]
    write_examples(tmp_path / "keepers.json", examples)
    return tmp_path / "keepers.json"


@pytest.fixture
def folder(tmp_path: Path, random_reader: Build) -> Path:
    random_reader(KEEPERS, null=True).save(tmp_path / "reader")
    return tmp_path / "reader"


def test_the_output_without_a_reader_is_as_before(readlet: Run, tmp_path: Path) -> None:
    """The same seed gives the same bytes as before there was --hard."""
    out = tmp_path / "out.jsonl"
    assert readlet("data", "unanswerable", "bundled:train", "--share", 0.3, "--out", out).code == 0
    expected = "3c8e5e54ff45241eb829c0b8866a8f5aa1869f7907bcf8fc8af1d67206e92f7c"
    assert sha256(out.read_bytes()).hexdigest() == expected


def test_the_reader_chooses(readlet: Run, tmp_path: Path, source: Path, folder: Path) -> None:
    out = tmp_path / "out.json"
    words = ("data", "unanswerable", source, "--hard", folder, "--overwrite", "--out", out)
    summary = readlet(*words, "--json", "--pool", 6).json()
    assert summary["added"] == summary["wanted"] == 4
    hard = summary["hard"]
    assert hard["candidates"] == 6 * 4
    written = out.read_bytes()
    # The four questions with the lowest of all no-answer probabilities, each at its lowest.
    reader, made = Reader.load(folder), pair_up(list(read_examples(source)), 24, 0, each=6)
    lowest: dict[str, float] = {}
    for new, old in zip(made.added, made.originals, strict=True):
        found = reader.answer(new.question, new.context)
        if not doubt(Judged(new, old, OTHER_PARAGRAPH, found)):
            lowest[old.id] = min(lowest.get(old.id, 1.0), found.no_answer)
    kept = [e for e in read_examples(out) if e.is_impossible]
    assert len({e.id.partition("-elsewhere")[0] for e in kept}) == 4
    probabilities = sorted(reader.answer(e.question, e.context).no_answer for e in kept)
    assert probabilities == pytest.approx(sorted(lowest.values())[:4])
    assert probabilities[0] < probabilities[-1]
    shown = " ".join(readlet(*words, "--pool", 6).out.split())
    assert f"candidates: 24, of which the reader answers {hard['answered_candidates']} (" in shown
    assert f"kept: 4, of which the reader answers {hard['answered']} (" in shown
    assert out.read_bytes() == written
    assert readlet("data", "check", out).code == 0


@pytest.mark.skipif(bundled_reader() is None, reason="this copy comes without a reader")
def test_the_bundled_reader_chooses(readlet: Run, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    words = ("data", "unanswerable", "bundled:dev", "--share", 0.27, "--out", out)
    done = readlet(*words, "--hard", "bundled", "--device", "cpu", "--json")
    assert done.code == 0, done.err
    summary = done.json()
    assert summary["added"] == summary["wanted"] == 2
    assert summary["hard"]["candidates"] > 2
    assert summary["hard"]["answered"] <= summary["hard"]["answered_candidates"]
    assert sum("-altered" in e.id for e in read_examples(out)) == 2
    assert readlet("data", "check", out).code == 0


def test_more_candidates_would_be_needed(
    readlet: Run, tmp_path: Path, source: Path, folder: Path
) -> None:
    words = ("data", "unanswerable", source, "--hard", folder, "--share", 0.95, "--pool", 2)
    shown = " ".join(readlet(*words, "--out", tmp_path / "out.json").out.split())
    assert "would be needed: there are no more candidates (a larger --pool may help)" in shown


def fails(readlet: Run, *words: object) -> str:
    done = readlet("data", "unanswerable", *words)
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    return str(line)


def test_readers_that_cannot_choose(
    readlet: Run, tmp_path: Path, source: Path, random_reader: Build
) -> None:
    random_reader(KEEPERS, null=False).save(tmp_path / "sure")
    out = tmp_path / "out.json"
    remedy = "give a reader's folder, or `bundled`"
    for name, fault in (
        ("baseline", f"baseline: its refusals were not learned; {remedy}"),
        (tmp_path / "absent", f"{tmp_path / 'absent'}: no reader there; {remedy}"),
        ("", f"no reader there; {remedy}"),
        (
            tmp_path / "sure",
            f"{tmp_path / 'sure'}: this reader never refuses; "
            "give a reader that was trained with unanswerable questions",
        ),
    ):
        assert fault in fails(readlet, source, "--hard", name, "--out", out)
    assert not out.exists()


def test_options_without_an_effect(readlet: Run, tmp_path: Path, source: Path) -> None:
    for words in (("--pool", 3), ("--device", "cpu")):
        line = fails(readlet, source, "--out", tmp_path / "out.json", *words)
        assert f"{words[0]}: only with --hard; add it, or leave {words[0]} out" in line


def test_a_pool_of_one_is_no_choice(
    readlet: Run, tmp_path: Path, source: Path, folder: Path
) -> None:
    words = ("data", "unanswerable", source, "--hard", folder, "--pool", 1)
    done = readlet(*words, "--out", tmp_path / "out.json")
    assert done.code == 2
    assert "--pool" in done.err


def test_everything_is_checked_before_the_reader_is_loaded(
    readlet: Run,
    tmp_path: Path,
    source: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def loaded(self: object) -> None:
        raise AssertionError("a reader was loaded")

    monkeypatch.setattr(Reader, "__post_init__", loaded)
    inside, before = folder / "config.json", json.loads((folder / "config.json").read_text())
    hard = ("--hard", folder, "--overwrite")
    out = ("--out", tmp_path / "out.json")
    assert "share 2.0: not between" in fails(readlet, source, *hard, *out, "--share", 2)
    assert "altered 3.0: not from" in fails(readlet, source, *hard, *out, "--altered", 3)
    for target in (source, inside):
        assert "is also an input" in fails(readlet, source, *hard, "--out", target)
    assert json.loads(inside.read_text()) == before
