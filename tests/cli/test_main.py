"""Any command: absurd input, closed streams, Ctrl-C, control characters; and the demo."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import readlet as package
from readlet.console import print_json

Run = Callable[..., Any]


def test_demo(readlet: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the scores of the bundled reader: the next test has those of a smaller one."""
    monkeypatch.setattr("readlet.cli.demo._score_bundled", lambda: None)
    done = readlet("demo")
    assert done.code == 0, done.err
    assert "epoch 6.0: " in done.err  # training reports its evaluations
    shown = done.out
    assert "No errors found." in shown
    assert shown.count("gold: ") == 6
    memorised = re.search(r"train: EM ([\d.]+)", shown)
    assert memorised is not None
    assert float(memorised[1]) > 90


def test_demo_starts_with_the_bundled_reader(
    readlet: Run,
    bundle: Callable[..., Path],
    random_reader: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("readlet.cli.demo._train", lambda: print("(training)"))
    passage = "Work began in May 1891. The ferry was built in Newcastle and shipped in pieces."
    bundle(random_reader(passage, null=True))
    done = readlet("demo")
    assert done.code == 0, done.err
    assert done.out.count("gold: ") == 6
    assert done.out.count("gold: no answer here") == 2
    assert done.out.count("(training)") == 1
    assert "against the other predictions: EM" in done.out


def test_version_and_help(readlet: Run) -> None:
    assert readlet("--version").out.strip() == package.__version__


def test_help_is_readable_at_80_columns(readlet: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole sentences, and names of arguments and values instead of Python's types."""
    monkeypatch.setenv("COLUMNS", "80")
    summaries = readlet("--help").out
    names = re.findall(r"^  ([a-z]+)  ", summaries.partition("Commands:")[2], re.MULTILINE)
    assert len(names) > 10
    for words in (*([name] for name in names), ["data", "check"], ["experiment", "run"]):
        done = readlet(*words, "--help")
        assert done.code == 0
        assert max(map(len, done.out.splitlines())) <= 80
        assert not re.search(r"<[a-z]|\{FILE|list\[|x>=|\(\(|\)\]|\.\.\.$", done.out), words


@pytest.mark.parametrize("words", [[], ["data"]])
def test_without_a_subcommand_the_help_is_shown(readlet: Run, words: list[str]) -> None:
    done = readlet(*words)
    assert done.code == 2
    assert [line.split() for line in done.err.splitlines()] == [
        line.split() for line in readlet(*words, "--help").out.splitlines()
    ]


ODD = "\x1b[31m \x07 \x9b2J \u202e \x7f \r"
ROW = {
    "id": f"i{ODD}",
    "question": f"Who {ODD}?",
    "context": f"Ada {ODD} came in 1881.",
    "answers": [{"text": "Ada", "answer_start": 0}],
    "title": f"t{ODD}",
    "language": f"l{ODD}",
}
CONTROLS = set("\x1b\x07\x9b\u202e\x7f\r")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "d.jsonl"
    path.write_text(json.dumps(ROW) + "\n")
    return path


HUGE = str(10**30)
TABLE = 'name = "t"\ntitle = "T"\nrecipe = "tiny"\n'


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("ask", "Who?", "DATA", "--n-best", HUGE), "n_best: 1000000"),
        (("ask", "Who?", "a\0b"), "NUL character"),
        (("train", "tiny", "--set", "training.batch_size=1000000000"), "training.batch_size: "),
        (("train", "tiny", "--set", f"training.batch_size={HUGE}"), "training.batch_size: "),
        (("train", "tiny", "--set", "training.epochs=true"), "training.epochs: "),
        (("train", "tiny", "--set", "model.blocks=10000000"), "model.blocks: "),
        (("train", "tiny", "--set", "data.dev=a\nb"), "data.dev"),
        (("train", "tiny", "--set", 'data.train=["a\\u0000b"]'), "data.train.0: "),
        (("train", "tiny", "--set", "training.epochs=" + "9" * 5000), "training.epochs"),
        (("train", "tiny", "--set", "data.train=" + "[" * 5000), "data.train"),
        (("experiment", "run", "ROWS", "--dry-run"), "ROWS: "),
        (("experiment", "run", "DEEP"), "DEEP: "),
    ],
)
def test_absurd_input(readlet: Run, data: Path, words: tuple[str, ...], message: str) -> None:
    tables = {
        "ROWS": f'{TABLE}combine = "all"\n'
        + "".join(
            f"[axes.a{n}]\n" + "".join(f'"{n}-{i}" = {{}}\n' for i in range(12)) for n in range(7)
        ),
        "DEEP": "a = " + "[" * 5000,
    }
    for name, text in tables.items():
        (data.parent / name).write_text(text)
    places = {name: data.parent / name for name in tables} | {"DATA": data}
    done = readlet(*(places.get(word, word) for word in words))
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert message in line


@pytest.mark.parametrize(
    "words",
    [
        ("data", "show", "DATA"),
        ("data", "check", "DATA", "--list"),
        ("data", "check", f"no{ODD}"),
        ("ask", f"Who {ODD}?", "PASSAGE", "--reader", "baseline", "--n-best", "3"),
        ("evaluate", "DATA", "--predictions", "NONE"),
        ("train", "tiny", "--set", f"training.{ODD}=1"),
        ("ask", f"--no{ODD}"),
        ("experiment", "run", "TABLE", "--dry-run"),
    ],
)
def test_control_characters_are_shown_not_obeyed(
    readlet: Run, data: Path, words: tuple[str, ...]
) -> None:
    files = {"PASSAGE": ROW["context"], "NONE": "{}"}
    files["TABLE"] = f"{TABLE}seeds = 1\n[axes.a]\n{json.dumps('x' + ODD)} = {{}}\n"
    for name, text in files.items():
        (data.parent / name).write_text(str(text))
    places = {name: data.parent / name for name in files} | {"DATA": data}
    done = readlet(*(places.get(word, word) for word in words))
    assert done.out + done.err != ""
    assert not CONTROLS & set(done.out + done.err)


def test_json_is_harmless_and_exact(capsys: pytest.CaptureFixture[str]) -> None:
    for indent in (None, 1):
        print_json(ROW | {ODD: [ODD]}, indent=indent)
        printed = capsys.readouterr().out
        assert not CONTROLS & set(printed)
        assert json.loads(printed) == ROW | {ODD: [ODD]}


@pytest.mark.parametrize(
    ("words", "with_messages"),
    [
        (("data", "show", "bundled:train", "--n", "300"), False),
        (("evaluate", "baseline", "bundled:test"), True),
    ],
)
def test_a_pipe_that_nobody_reads_is_no_error(words: tuple[str, ...], with_messages: bool) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "readlet", *words],
        stdout=writing,
        stderr=writing if with_messages else subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert done.returncode == 0
    assert with_messages or done.stderr == b""


@pytest.mark.parametrize("seconds", [0.0, 0.5, 2.0])
def test_an_interrupt_prints_one_line(seconds: float, tmp_path: Path) -> None:
    """While modules are loaded, the reader is loaded, or questions are answered."""
    questions = [json.dumps(ROW | {"id": str(i)}) + "\n" for i in range(20_000)]
    (tmp_path / "many.jsonl").write_text("".join(questions))
    ready = tmp_path / "ready"  # how long the interpreter takes to start depends on the machine
    program = (
        "import sys, pathlib\nfrom readlet.console import report_interrupts\n"
        "from readlet.__main__ import main\nreport_interrupts()\n"
        "pathlib.Path(sys.argv.pop(1)).touch()\nmain()"
    )
    words = ["evaluate", "bundled", str(tmp_path / "many.jsonl")]
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(ready), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Background jobs ignore it, and so would their children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not ready.exists() and process.poll() is None:
        time.sleep(0.01)
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (130, "")
    assert err == "readlet: interrupted\n"


def test_out_of_memory_is_one_line(readlet_process: Run, tmp_path: Path) -> None:
    """A passage of which the machine cannot hold the words."""
    passage = tmp_path / "long.txt"
    passage.write_bytes(b"Ada lit the lamp. " * 3_000_000)

    def limit_memory() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))

    done = readlet_process(
        "ask", "Who?", passage, "--reader", "baseline", preexec_fn=limit_memory, timeout=60
    )
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert "memory is full" in line
