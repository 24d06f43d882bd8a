"""`readlet ask`: about a passage or many documents, once or in a conversation."""

import io
import json
import os
import re
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from readlet.types import Candidate, Prediction

Run = Callable[..., Any]

BASELINE = ("--reader", "baseline")
KILN = "\nThe old kiln stands in Hollow Lane. Ada Brook built it in 1881.\n"
BELL = "The bell was cast by Ines Calder in Ghent. It hangs in the mill.\n"
QUESTION = "Who built the kiln?"


@pytest.fixture
def kiln(tmp_path: Path) -> Path:
    path = tmp_path / "kiln.txt"
    path.write_text(KILN)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    (root / "old" / ".hidden").mkdir(parents=True)
    (root / "old" / "kiln.TXT").write_text(KILN)
    (root / "bell.md").write_text(BELL)
    (root / "mill.txt").write_text("The mill grinds corn. It stands by the river.")
    (root / "table.zip").write_text("a,b\n")
    (root / "old" / "picture.png").write_bytes(b"\x89PNG\x00")
    (root / ".notes.txt").write_text("Nobody built the kiln.")
    (root / "old" / ".hidden" / "more.txt").write_text("Nobody built the kiln.")
    return root


def test_an_answer_is_a_span_of_the_passage(readlet: Run, kiln: Path) -> None:
    done = readlet("ask", QUESTION, kiln, *BASELINE, "--json", "--n-best", 3)
    assert done.code == 0
    answer = done.json()
    assert answer["text"] == "Ada Brook"
    assert KILN[answer["start"] : answer["end"]] == answer["text"]
    assert 0 <= answer["score"] <= 1
    assert 1 < len(answer["n_best"]) <= 3


def test_the_answer_comes_first_then_its_sentence_and_place(readlet: Run, kiln: Path) -> None:
    done = readlet("ask", QUESTION, kiln, *BASELINE)
    assert done.code == 0
    first, *others = done.out.splitlines()
    assert first.startswith("Ada Brook ")
    assert "[Ada Brook] built it in 1881." in others
    assert "kiln.txt, line 2" in done.out
    assert len(others) <= 5
    several = readlet("ask", QUESTION, kiln, *BASELINE, "--n-best", 2)
    assert "  2. " in several.out


def test_a_long_sentence_is_cropped_around_the_answer(readlet: Run, kiln: Path) -> None:
    sentence = "And nobody knows why it was built there " * 20
    kiln.write_text("Nobody came by.\n" * 2000 + KILN.replace("in 1881.", sentence) * 2000)
    done = readlet("ask", QUESTION, kiln, *BASELINE)
    assert len(done.out.splitlines()) <= 6
    assert "[Ada Brook] built it" in " ".join(done.out.split())


def test_the_passage_is_printed_on_request_only(readlet: Run, kiln: Path) -> None:
    kiln.write_text("Nobody came by.\n" * 20 + KILN)
    done = readlet("ask", QUESTION, kiln, *BASELINE)
    assert len(done.out.splitlines()) <= 6
    shown = readlet("ask", QUESTION, kiln, *BASELINE, "--show-passage").out
    assert shown.startswith(done.out)
    assert shown.count("Nobody came by.") == 20


def test_square_brackets_are_text(readlet: Run, tmp_path: Path) -> None:
    path = tmp_path / "passage.txt"
    path.write_text("The [/b] bell was cast by [bold] Ada Brook [/x].")
    done = readlet("ask", "Who cast the [/i] bell?", path, *BASELINE, "--n-best", 5)
    assert done.code == 0
    assert "The [/b] bell was cast by" in done.out


def test_passage_from_standard_input(readlet_process: Run) -> None:
    words = ("ask", QUESTION, "-", *BASELINE, "--json")
    done = readlet_process(*words, input=KILN)
    assert done.code == 0
    assert done.json()["text"] == "Ada Brook"
    with_mark = readlet_process(*words, input=f"\ufeff{KILN}")
    assert with_mark.json() == done.json()


@pytest.mark.parametrize(
    ("question", "content", "place"),
    [
        (" ", b"Some text.", "question"),
        ("Who?", b" \n", "passage.txt: "),
        ("Who?", b"a\0b", "passage.txt: "),
    ],
)
def test_bad_input(readlet: Run, tmp_path: Path, question: str, content: bytes, place: str) -> None:
    path = tmp_path / "passage.txt"
    path.write_bytes(content)
    done = readlet("ask", question, path)
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert place in line


def test_the_bundled_reader_is_the_default(
    readlet: Run, kiln: Path, request: pytest.FixtureRequest
) -> None:
    pytest.importorskip("torch")
    inside = request.getfixturevalue("random_reader")(KILN)
    request.getfixturevalue("bundle")(inside)
    prediction = inside.answer(QUESTION, KILN)
    for words in ((), ("--reader", "bundled")):
        done = readlet("ask", QUESTION, kiln, "--json", *words)
        assert (done.code, done.err) == (0, "")
        assert (done.json()["text"], done.json()["score"]) == (prediction.text, prediction.score)


def test_where_it_abstains_the_best_guess_is_shown(
    readlet: Run, kiln: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Timid:
        name = "timid"

        def answer(self, question: str, context: str, *_: object, **__: object) -> Prediction:
            guess = Candidate("Ada Brook", 37, 46, 0.2)
            return Prediction("", 0, 0, 0.2, 0.7, True, (guess,) if "kiln" in question else ())

    monkeypatch.setattr("readlet.inference.reader.load_reader", lambda name, **_: Timid())
    first, second, *_ = readlet("ask", QUESTION, kiln).out.splitlines()
    assert first.startswith("No answer here")
    assert "Ada Brook" in second
    assert len(readlet("ask", "Who sold it?", kiln).out.splitlines()) == 1


def test_levels(readlet: Run, kiln: Path, tmp_path: Path) -> None:
    """For one passage and for several documents."""
    other = tmp_path / "other.txt"
    other.write_text("The mill grinds corn.")
    for passages in ((kiln,), (kiln, other)):
        words = ("ask", "Who built the kiln of Ghent?", *passages, *BASELINE, "--json")
        assert 0 < readlet(*words).json()["no_answer"] < 1
        assert readlet(*words, "--min-confidence", 1).json()["abstained"]
        found = readlet(*words, "--min-confidence", "always").json()
        assert (found["text"], found["abstained"]) == ("Ada Brook", False)
        assert readlet(*words, "--min-confidence", "bold").code == 2


def test_one_table_is_read_row_by_row(readlet: Run, tmp_path: Path) -> None:
    table = tmp_path / "prices.csv"
    table.write_text("Item,Price\nkiln,1881 EUR\nmill,1790 EUR\n")
    done = readlet("ask", "What does the mill cost?", table, *BASELINE, "--json").json()
    assert done["document"] == str(table)
    assert done["n_best"][0]["place"] == "row 3"


def test_a_folder_names_the_document_that_answers(readlet: Run, folder: Path) -> None:
    done = readlet("ask", QUESTION, folder, *BASELINE)
    assert done.code == 0
    assert done.out.startswith("Ada Brook ")
    assert f"{folder}/old/kiln.TXT, line 2" in done.out
    assert "Nobody" not in done.out
    assert "3 documents" in done.out
    assert len(done.out.splitlines()) <= 6
    assert done.err == "readlet: 2 files of other types skipped\n"


def test_several_files_best_first(readlet: Run, folder: Path) -> None:
    files = (folder / "bell.md", folder / "old" / "kiln.TXT", folder / "mill.txt")
    done = readlet("ask", QUESTION, *files, *BASELINE, "--json", "--n-best", 2)
    assert (done.code, done.err) == (0, "")
    best = done.json()
    assert (best["document"], best["text"], best["start"]) == (str(files[1]), "Ada Brook", 37)
    assert len(best["n_best"]) == 2
    assert best["n_best"][0].items() >= {"document": str(files[1]), "text": "Ada Brook"}.items()
    assert best["n_best"][1]["document"] != str(files[1])
    for candidate in best["n_best"]:
        text = Path(candidate["document"]).read_text()
        assert text[candidate["start"] : candidate["end"]] == candidate["text"]


def test_files_that_cannot_be_read_are_reported_and_skipped(readlet: Run, folder: Path) -> None:
    (folder / "a-latin.txt").write_bytes(b"caf\xe9")
    (folder / "b-empty.txt").write_bytes(b"")
    (folder / "c-blank.txt").write_text(" \n")
    (folder / "d-binary.txt").write_bytes(b"a\0b")
    (folder / "table.zip").unlink()
    os.symlink("nowhere", folder / "e-link.txt")
    done = readlet("ask", QUESTION, folder, *BASELINE, "--json")
    assert (done.code, done.json()["text"]) == (0, "Ada Brook")
    skipped, guessed, others = done.err.splitlines()
    assert "4 skipped" in skipped
    assert f"{folder}/b-empty.txt" in skipped
    assert f"{folder}/a-latin.txt: read as cp1252" in guessed
    assert "1 file of another type" in others
    done = readlet("ask", QUESTION, folder / "d-binary.txt", folder / "e-link.txt", *BASELINE)
    assert (done.code, done.out) == (2, "")
    assert "no text to read" in done.err.splitlines()[-1]


# In a conversation


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def talk(readlet: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `readlet ask -i` in this process with lines from a pipe."""

    def run(typed: str | bytes, *words: object) -> Any:
        data = typed if isinstance(typed, bytes) else typed.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), "utf-8"))
        return readlet("ask", "-i", *words, *BASELINE)

    return run


def test_a_question_on_each_line(talk: Run, kiln: Path) -> None:
    done = talk("Who built the kiln?\n\nWhen was the kiln built?", kiln)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Q Who built the kiln?\nAda Brook ")
    assert "\nQ When was the kiln built?\n1881 " in done.out


def test_more_candidates(talk: Run, kiln: Path) -> None:
    done = talk("Who built the kiln?\n/more\n", kiln)
    assert (done.code, done.err) == (0, "")
    assert re.search(r"^  1\. .*Ada Brook", done.out, re.MULTILINE)
    assert "  2. " in done.out


def test_the_document_that_answers_is_named(talk: Run, kiln: Path) -> None:
    bell = kiln.with_name("bell.html")
    bell.write_text("<p>The bell was cast by Ines Calder in Ghent.<script>no()</script><p>High.")
    done = talk("Who cast the bell?\n/more\nWho built the kiln?\n", kiln, bell)
    assert (done.code, done.err) == (0, "")
    _, cast, built = done.out.split("Q Who ")
    assert f"\n{bell}, line 1\n" in cast
    assert re.search(rf"^  2\. .*{re.escape(str(kiln))}", cast, re.MULTILINE)
    assert f"\n{kiln}, line 2\n" in built
    assert "no()" not in done.out


def test_json_on_each_line(talk: Run, kiln: Path) -> None:
    done = talk("Who built the kiln?\nWhen was the kiln built?\n", kiln, "--json", "--n-best", 2)
    found = [json.loads(line) for line in done.out.splitlines()]
    assert [one["text"] for one in found] == ["Ada Brook", "1881"]
    assert [len(one["n_best"]) for one in found] == [2, 2]


def test_bad_questions(talk: Run, kiln: Path) -> None:
    done = talk(b"Who?\ncaf\xe9\n", kiln)  # a pipe is decoded some lines at a time
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert "standard input: " in done.err
    assert talk("Who?\n", "-").code == 2  # the passage, where questions are typed


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a pseudo-terminal")
def test_in_a_terminal(kiln: Path) -> None:
    """Ctrl-C cancels what is typed, the arrow brings a question back, and Ctrl-D ends."""
    import pty

    child, master = pty.fork()
    if child == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # the tests may run in the background
        os.environ |= {"TERM": "xterm", "NO_COLOR": "1"}
        command = ["-m", "readlet", "ask", "-i", str(kiln), *BASELINE]
        os.execv(sys.executable, [sys.executable, *command])
    try:
        assert "/more shows" in _until(master, "? ")
        os.write(master, b"Who sold")
        _until(master, "Who sold")
        # Python's readline notices a Ctrl-C only while it waits for a key, not while it echoes one.
        time.sleep(0.3)
        _until(master, "? ", press=b"\x03")
        os.write(master, b"Who built the kiln?\r")
        assert "[Ada Brook] built it" in _until(master, "kiln.txt, line 2", "? ")
        os.write(master, b"\x1b[A\r")  # the arrow up
        assert "[Ada Brook] built it" in _until(master, "kiln.txt, line 2", "? ")
        os.write(master, b"\x04")
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        child = 0
    finally:
        os.close(master)
        if child:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


_STYLES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def _until(master: int, *wanted: str, press: bytes = b"") -> str:
    """What the terminal shows until these texts have appeared, one after another.

    `press` is a key that is pressed, and again after ten seconds in vain.
    """
    seen = ""
    end = time.monotonic() + 60
    due = 0.0
    while time.monotonic() < end:
        if press and time.monotonic() >= due:
            os.write(master, press)
            due = time.monotonic() + 10
        if select.select([master], [], [], 1.0)[0]:
            try:
                seen += _STYLES.sub("", os.read(master, 4096).decode())
            except OSError:  # the program has ended
                break
        if re.search(".*".join(map(re.escape, wanted)), seen, re.DOTALL):
            return seen
    raise AssertionError(f"no {wanted} in {seen!r}")


def test_an_answer_can_be_cancelled(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a terminal the conversation goes on; in a pipe nobody could continue it."""
    from readlet.cli.ask import converse

    class Slow:
        asked: ClassVar[list[str]] = []

        def answer(self, question: str, shown: int = 1) -> Any:
            self.asked.append(question)
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", Terminal("Who?\nWhen?\n"))
    converse(Slow(), 1, as_json=False)
    assert Slow.asked == ["Who?", "When?"]
    assert capsys.readouterr().out.count("cancelled") == 2
    monkeypatch.setattr(sys, "stdin", io.StringIO("Who?\n"))
    with pytest.raises(KeyboardInterrupt):
        converse(Slow(), 1, as_json=False)
