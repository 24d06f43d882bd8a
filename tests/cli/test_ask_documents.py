"""`readlet ask` about several files or a folder."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

BASELINE = ("--reader", "baseline")
KILN = "The old kiln stands in Hollow Lane. Ada Brook built it in 1881.\n"
BELL = "The bell was cast by Ines Calder in Ghent. It hangs in the mill.\n"
QUESTION = "Who built the kiln?"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    (root / "old" / ".hidden").mkdir(parents=True)
    (root / "old" / "kiln.TXT").write_text(KILN)
    (root / "bell.md").write_text(BELL)
    (root / "mill.txt").write_text("The mill grinds corn. It stands by the river.")
    (root / "table.csv").write_text("a,b\n")
    (root / "old" / "picture.png").write_bytes(b"\x89PNG\x00")
    (root / ".notes.txt").write_text("Nobody built the kiln.")
    (root / "old" / ".hidden" / "more.txt").write_text("Nobody built the kiln.")
    return root


def test_a_folder_names_the_document_that_answers(readlet: Run, folder: Path) -> None:
    done = readlet("ask", QUESTION, folder, *BASELINE)
    assert done.code == 0
    assert done.out.startswith(f"{folder}/old/kiln.TXT\n")
    shown = " ".join(done.out.split())
    assert "[Ada Brook] built it" in shown
    assert f"A Ada Brook ({folder}/old/kiln.TXT at 36-45, confidence" in shown
    assert "Nobody" not in shown
    assert "read 3 of 3 pieces of 3 documents" in shown
    assert done.err == "readlet: 2 files of other types skipped\n"


def test_several_files_best_first(readlet: Run, folder: Path) -> None:
    files = (folder / "bell.md", folder / "old" / "kiln.TXT", folder / "mill.txt")
    done = readlet("ask", QUESTION, *files, *BASELINE, "--json", "--n-best", 2)
    assert (done.code, done.err) == (0, "")
    best = done.json()
    assert (best["document"], best["text"], best["start"]) == (str(files[1]), "Ada Brook", 36)
    assert len(best["n_best"]) == 2
    assert best["n_best"][0].items() >= {"document": str(files[1]), "text": "Ada Brook"}.items()
    assert best["n_best"][1]["document"] != str(files[1])
    for candidate in best["n_best"]:
        text = Path(candidate["document"]).read_text()
        assert text[candidate["start"] : candidate["end"]] == candidate["text"]


def test_no_document_answers(readlet: Run, folder: Path) -> None:
    done = readlet("ask", "How heavy are giraffes?", folder, *BASELINE)
    assert done.code == 0
    assert "A no answer in these documents  (probability 1.00" in done.out
    assert not readlet("ask", "How heavy are giraffes?", folder, *BASELINE, "--json").json()["text"]


def test_files_that_cannot_be_read_are_reported_and_skipped(readlet: Run, folder: Path) -> None:
    (folder / "a-latin.txt").write_bytes(b"caf\xe9")
    (folder / "b-empty.txt").write_bytes(b"")
    (folder / "c-blank.txt").write_text(" \n")
    (folder / "d-binary.txt").write_bytes(b"a\0b")
    os.symlink("nowhere", folder / "e-link.txt")
    done = readlet("ask", QUESTION, folder, *BASELINE, "--json")
    assert (done.code, done.json()["text"]) == (0, "Ada Brook")
    skipped, others = done.err.splitlines()
    assert "5 skipped" in skipped
    assert f"{folder}/a-latin.txt: byte 3" in skipped
    assert "2 files of other types" in others
    done = readlet("ask", QUESTION, folder / "d-binary.txt", folder / "e-link.txt", *BASELINE)
    assert (done.code, done.out) == (2, "")
    assert "no text to read" in done.err.splitlines()[-1]
