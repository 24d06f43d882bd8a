"""`readlet ask -i`: questions from a pipe, and in a terminal."""

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

Run = Callable[..., Any]

BASELINE = ("--reader", "baseline")
KILN = "The old kiln stands in Hollow Lane. Ada Brook built it in 1881.\n"
BELL = "<p>The bell was cast by Ines Calder in Ghent.<script>no()</script><p>It hangs high."


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def kiln(tmp_path: Path) -> Path:
    path = tmp_path / "kiln.txt"
    path.write_text(KILN)
    return path


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
    shown = " ".join(done.out.split())
    assert shown.startswith("Q Who built the kiln? The old kiln stands in Hollow Lane. [Ada Brook]")
    assert "A Ada Brook (at 36-45, confidence" in shown
    assert "A 1881 (at 58-62" in shown
    assert "? Who" not in done.out  # no prompt


def test_commands(talk: Run, kiln: Path) -> None:
    done = talk("/more\n/passage\nWho built the kiln?\n/more\n/passage\n/help\n/quux 1\n", kiln)
    assert done.code == 0
    assert [line.split(": ")[1] for line in done.err.splitlines()] == ["/more", "/quux"]
    before, after = done.out.split("Q Who built", 1)
    assert before.count("Ada Brook built it") == 1  # not marked: nothing was asked
    assert re.search(r"^  1\. \d\.\d\d  Ada Brook  at 36$", after, re.MULTILINE)
    assert "  2. " in after
    assert after.count("[Ada Brook] built it") == 2
    assert "/more shows other candidates" in " ".join(after.split())


def test_the_document_that_answers_is_named(talk: Run, kiln: Path) -> None:
    bell = kiln.with_name("bell.html")
    bell.write_text(BELL)
    done = talk("/passage\nWho cast the bell?\n/more\n/passage\nWho built the kiln?\n", kiln, bell)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"{kiln}\n{bell}\n")
    assert f"A Ines Calder  ({bell} at 21-32, confidence" in done.out
    assert re.search(rf"^  2\. .*{re.escape(str(kiln))} at ", done.out, re.MULTILINE)
    assert f"\n{bell}\nThe bell was cast by [Ines Calder] in Ghent." in done.out
    assert f"A Ada Brook  ({kiln} at 36-45" in done.out
    assert "no()" not in done.out


def test_json_on_each_line(talk: Run, kiln: Path) -> None:
    done = talk("Who built the kiln?\nWhen was the kiln built?\n", kiln, "--json", "--n-best", 2)
    found = [json.loads(line) for line in done.out.splitlines()]
    assert [one["text"] for one in found] == ["Ada Brook", "1881"]
    assert [len(one["n_best"]) for one in found] == [2, 2]


def test_only_answers_go_to_a_file(
    readlet: Run, kiln: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Typed in a terminal, with stdout in a file: prompt and help are seen, not stored."""
    monkeypatch.setattr(sys, "stdin", Terminal("Who built the kiln?\n/help\n"))
    done = readlet("ask", "-i", kiln, "--json", *BASELINE)
    (line,) = done.out.splitlines()
    assert json.loads(line)["text"] == "Ada Brook"
    assert done.err.count("? ") >= 2
    assert done.err.count("/more shows") == 2


def test_bad_input(talk: Run, kiln: Path) -> None:
    done = talk(b"Who?\ncaf\xe9\n", kiln)  # a pipe is decoded some lines at a time
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert "standard input: line 1: " in done.err
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
        assert "[Ada Brook] built it" in _until(master, "A Ada Brook", "? ")
        os.write(master, b"\x1b[A\r")  # the arrow up
        assert "A Ada Brook" in _until(master, "A Ada Brook", "? ")
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

        def answer(self, question: str, shown: int | None = None) -> Any:
            self.asked.append(question)
            raise KeyboardInterrupt

        def show_passage(self) -> None: ...

    monkeypatch.setattr(sys, "stdin", Terminal("Who?\nWhen?\n"))
    converse(Slow(), None, as_json=False)
    assert Slow.asked == ["Who?", "When?"]
    assert capsys.readouterr().out.count("cancelled") == 2
    monkeypatch.setattr(sys, "stdin", io.StringIO("Who?\n"))
    with pytest.raises(KeyboardInterrupt):
        converse(Slow(), None, as_json=False)
