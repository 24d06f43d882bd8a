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


def test_a_file_is_read_once(readlet: Run, folder: Path) -> None:
    os.symlink(folder / "bell.md", folder / "link.md")
    done = readlet("ask", QUESTION, folder, folder / "mill.txt", folder / "bell.md", *BASELINE)
    assert "pieces of 3 documents" in done.out


def test_standard_input_is_one_of_the_documents(readlet_process: Run, folder: Path) -> None:
    words = ("ask", QUESTION, folder / "bell.md", "-", *BASELINE, "--json")
    done = readlet_process(*words, input=KILN)
    assert (done.json()["document"], done.json()["text"]) == ("-", "Ada Brook")


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
    assert done.err.splitlines() == [
        f"readlet: 5 skipped: {folder}/a-latin.txt: byte 3: not UTF-8 text; "
        f"{folder}/b-empty.txt: the file is empty; {folder}/c-blank.txt: has no text; "
        "and 2 more",
        "readlet: 2 files of other types skipped",
    ]
    done = readlet("ask", QUESTION, folder / "d-binary.txt", folder / "e-link.txt", *BASELINE)
    assert (done.code, done.out) == (2, "")
    assert "no text to read" in done.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("{folder}/bell.md", "{folder}/none.txt"), "none.txt: no such file or folder; check"),
        (("{empty}",), "no text to read; give text files, or a folder with files that end in"),
        (("{others}",), "no text to read (1 files have another ending); give"),
    ],
)
def test_bad_paths(readlet: Run, folder: Path, words: tuple[str, ...], message: str) -> None:
    (folder.parent / "empty").mkdir()
    (folder.parent / "others").mkdir()
    (folder.parent / "others" / "a.png").write_bytes(b"x")
    places = {name: folder.parent / name for name in ("empty", "others")} | {"folder": folder}
    done = readlet("ask", QUESTION, *(word.format(**places) for word in words), *BASELINE)
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert message in line


def test_an_empty_question(readlet: Run, folder: Path) -> None:
    done = readlet("ask", " ", folder, *BASELINE)
    assert (done.code, done.err) == (2, "readlet: the question is empty; it needs text\n")


def test_the_number_of_pieces_that_are_read(readlet: Run, folder: Path) -> None:
    done = readlet("ask", QUESTION, folder, *BASELINE, "--read", 1)
    assert "read 1 of 3 pieces of 3 documents" in done.out
    assert "  1. " not in done.out  # there is no other answer


def test_files_in_another_encoding(readlet: Run, readlet_process: Run, folder: Path) -> None:
    latin = folder / "latin.txt"
    latin.write_bytes("The café of Zoë Brook was built in 1881.".encode("cp1252"))
    for passages in ((latin,), (latin, latin.with_name("mill.txt")), (folder,)):
        words = ("ask", "Who built the café?", *passages, *BASELINE, "--json")
        assert readlet(*words, "--encoding", "cp1252").json()["text"] == "Zoë Brook"
        done = readlet(*words, "--encoding", "klingon")
        assert (done.code, len(done.err.splitlines())) == (2, 1)
        assert "encoding 'klingon': unknown; use for example" in done.err
    done = readlet("ask", "Who?", latin, *BASELINE)
    assert "name its encoding with --encoding cp1252" in done.err
    words = ("ask", "Who built the café?", "-", *BASELINE, "--json")
    with latin.open("rb") as stream:
        done = readlet_process(*words, "--encoding", "cp1252", stdin=stream)
    assert done.json()["text"] == "Zoë Brook"
