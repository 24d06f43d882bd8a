"""Invalid input: exit code 2, one line with file, place and remedy, and no output."""

import gzip
import json
import os
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
Rejected = Callable[[Any, Path, str], None]

ROW = '{"id": "1", "question": "Who?", "context": "Ada came.", "answers": []}\n'
SQUAD = (
    '{"data": [{"title": "t", "paragraphs": [{"context": "Ada came.", "qas": [{"id": "q1", '
    '"question": "Who?", "answers": [{"text": "Ada", "answer_start": START}]}]}]}]}'
)
GOOD_SQUAD = SQUAD.replace("START", "0")
CUT_GZIP = gzip.compress(GOOD_SQUAD.encode())[:-9]

MEBI = 1 << 20

# The content of a file, and the place of its fault.
CASES: dict[str, tuple[bytes, str]] = {
    "truncated JSON": (GOOD_SQUAD[:90].encode(), "line 1, column "),
    "an object without data": (b'{"version": "1.1"}', "line 1: no column 'question'"),
    "an empty file": (b"", ""),
    "invalid UTF-8": (GOOD_SQUAD.encode().replace(b"Ada c", b"Ad\xe9 c"), "byte 55: "),
    "invalid UTF-8 later": (
        ROW.encode() * (MEBI // len(ROW) + 1) + b"\xff",
        f"byte {(MEBI // len(ROW) + 1) * len(ROW)}: ",
    ),
    "a gz that ends early": (CUT_GZIP, f"byte {len(CUT_GZIP)}: "),
    "CSV without the column": (b"id,question,story\n1,Who?,Ada came.\n", "header: "),
}

# Files that are partly readable: `data check` lists the fault, all other commands reject the file.
PARTLY_READABLE: dict[str, tuple[bytes, str]] = {
    "truncated JSON": (GOOD_SQUAD[:-1].encode(), f"line 1, column {len(GOOD_SQUAD)}"),
    "truncated JSONL": ((ROW + ROW[:40]).encode(), "line 2, column 33"),
    "a ragged CSV row": (
        b"question,context,answer\nWho?,Ada came.,Ada\nWho?,Ada, came.,Ada\n",
        "line 3",
    ),
}


@pytest.fixture
def check_rejected(tmp_path: Path) -> Rejected:
    before = set(tmp_path.iterdir())

    def check(done: Any, source: Path, place: str) -> None:
        assert done.code == 2
        (line,) = done.err.splitlines()  # exactly one
        assert line.startswith(f"readlet: {source}: {place}")
        assert "; " in line.removeprefix(f"readlet: {source}: ")  # a remedy follows
        assert done.out == ""
        left = {path.name for path in set(tmp_path.iterdir()) - before}
        assert left <= {source.name}  # no output, not even a partial one

    return check


@pytest.mark.parametrize("case", CASES)
def test_bad_file(readlet: Run, tmp_path: Path, case: str, check_rejected: Rejected) -> None:
    content, place = CASES[case]
    path, out = tmp_path / "given", tmp_path / "out.json"
    path.write_bytes(content)
    for words in (("data", "check", path), ("data", "check", path, "--fix", out, "--json")):
        check_rejected(readlet(*words), path, place)
    check_rejected(readlet("evaluate", "baseline", path), path, place)


@pytest.mark.parametrize("case", PARTLY_READABLE)
def test_partly_readable_file(
    readlet: Run, tmp_path: Path, case: str, check_rejected: Rejected
) -> None:
    content, place = PARTLY_READABLE[case]
    path, out = tmp_path / "given", tmp_path / "out.json"
    path.write_bytes(content)
    done = readlet("evaluate", "baseline", path)
    check_rejected(done, path, f"{place}: ")
    checked = readlet("data", "check", path, "--json")
    assert (checked.code, checked.err) == (1, "")
    (file,) = checked.json()["files"]
    assert file["questions"] == 1
    assert file["findings"][0]["id"] == place
    fixed = readlet("data", "check", path, "--fix", out, "--json")
    assert (fixed.code, fixed.json()["fixed"]["written"]) == (1, 1)
    assert list(fixed.json()["fixed"]["dropped"].values()) == [[place]]


def test_directory_and_missing_file(readlet: Run, tmp_path: Path, check_rejected: Rejected) -> None:
    check_rejected(readlet("data", "check", tmp_path / "none.json"), tmp_path / "none.json", "")
    check_rejected(readlet("evaluate", "baseline", tmp_path), tmp_path, "")


def test_answer_that_is_not_in_the_context(
    readlet: Run, tmp_path: Path, check_rejected: Rejected
) -> None:
    """`evaluate` rejects misplaced answers; `data check` reports them, with exit code 1."""
    path = tmp_path / "off.json"
    path.write_text(SQUAD.replace("START", "2"))
    done = readlet("evaluate", "baseline", path)
    check_rejected(done, path, "question 'q1': ")
    done = readlet("data", "check", path)
    assert (done.code, done.err) == (1, "")
    assert "'Ada' at 2, is at 0" in done.out


def test_a_very_long_path_is_shortened(
    readlet: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "good.jsonl").write_text(ROW)
    good, long = tmp_path / "good.jsonl", "x/" * 2_500 + "x"
    for words in (
        ("ask", "Who?", long),
        ("data", "check", long),
        ("data", "show", long),
        ("data", "check", good, "--fix", long),
        ("predict", "baseline", long, "--out", tmp_path / "out.jsonl"),
        ("predict", "baseline", good, "--out", long),
        ("evaluate", "baseline", long),
        ("evaluate", long, good),
        ("serve", long),
        ("export", long, "--out", tmp_path / "out"),
        ("slim", "bundled", "--out", long),
        ("train", long, "--out", tmp_path / "out"),
        ("train", "tiny", "--out", long),
        ("index", long),
    ):
        done = readlet(*words)
        assert done.code == 2, words
        assert len(done.err.splitlines()) == 1, words
        assert len(done.err) < 1_000, words


@pytest.mark.parametrize("text", ["a b c d e f g h ", "&amp;", "x", "x\n", "# a "])
@pytest.mark.parametrize("kind", ["txt", "html", "md", "csv", "jsonl"])
def test_any_text_takes_linear_time(readlet: Run, tmp_path: Path, kind: str, text: str) -> None:
    """100 KB of words of one letter, or of one line, took a minute."""
    path, content = tmp_path / f"given.{kind}", text * (100_000 // len(text))
    words: tuple[Any, ...] = ("ask", "Who came?", path, "--reader", "baseline")
    if kind == "jsonl":
        content = json.dumps({"id": "1", "question": "Who?", "context": content, "answers": []})
        words = ("data", "show", path)
    path.write_text(content)
    before = os.times()
    assert readlet(*words).code in (0, 2)  # an empty table has no text
    spent = [after - began for after, began in zip(os.times(), before, strict=True)]
    assert sum(spent[:4]) < 3  # with subprocesses


def test_traceback_only_with_debug(readlet_process: Run, tmp_path: Path) -> None:
    path = tmp_path / "missing.json"
    for words in (["--debug", "data", "check", path], ["data", "check", path, "--debug"]):
        done = readlet_process(*words)
        assert done.code != 0
        assert "Traceback" in done.err
        assert "no such file" in done.err


@pytest.fixture
def huge(tmp_path: Path) -> Iterator[Callable[[str, str], Path]]:
    """A file of 200 MB with one unfinished value; removed early to save disk space."""
    path = tmp_path / "huge"

    def write(beginning: str, filling: str) -> Path:
        block = filling.encode() * (MEBI // len(filling.encode()))
        with path.open("wb") as stream:
            stream.write(beginning.encode())
            for _ in range(200):
                stream.write(block)
        return path

    yield write
    path.unlink()


@pytest.mark.parametrize(
    ("beginning", "filling", "place"),
    [
        ('\n{"context": "', "long ", "line 2: "),
        ('{"version": "2",\n "data": [{"title": "', "wide 🦉", "line 2, column 11: "),
    ],
    ids=["a line of JSONL", "a text in an article"],
)
def test_200_megabytes_in_one_piece(
    readlet_process: Run,
    huge: Callable[[str, str], Path],
    beginning: str,
    filling: str,
    place: str,
    check_rejected: Rejected,
) -> None:
    path = huge(beginning, filling)

    def limit_memory() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

    done = readlet_process("data", "check", path, preexec_fn=limit_memory, timeout=30)
    check_rejected(done, path, place)
