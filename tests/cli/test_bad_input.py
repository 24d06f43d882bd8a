"""Invalid input: exit code 2, one line with file, place and remedy, and no output."""

import gzip
import json
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from readlet.data import read_examples
from readlet.types import Span

Run = Callable[..., Any]

ROW = '{"id": "1", "question": "Who?", "context": "Ada came.", "answers": []}\n'
SQUAD = (
    '{"data": [{"title": "t", "paragraphs": [{"context": "Ada came.", "qas": [{"id": "q1", '
    '"question": "Who?", "answers": [{"text": "Ada", "answer_start": START}]}]}]}]}'
)
GOOD_SQUAD = SQUAD.replace("START", "0")
CUT_GZIP = gzip.compress(GOOD_SQUAD.encode())[:-9]

MEBI = 1 << 20

# The content of a file, and the error message after the file's name.
CASES: dict[str, tuple[bytes, str]] = {
    "truncated JSON": (GOOD_SQUAD[:90].encode(), "line 1, column "),
    "a number": (b"42", "starts with '42'"),
    "a string": (b'"just text"', "starts with "),
    "an object without data": (b'{"version": "1.1"}', "line 1: no column 'question'"),
    "an empty file": (b"", "the file is empty"),
    "only a byte order mark": (b"\xef\xbb\xbf", "the file is empty"),
    "invalid UTF-8": (GOOD_SQUAD.encode().replace(b"Ada c", b"Ad\xe9 c"), "byte 55: not UTF-8"),
    "invalid UTF-8 later": (
        ROW.encode() * (MEBI // len(ROW) + 1) + b"\xff",
        f"byte {(MEBI // len(ROW) + 1) * len(ROW)}: not UTF-8",
    ),
    "a gz that ends early": (CUT_GZIP, f"byte {len(CUT_GZIP)}: the gzip data is damaged"),
    "CSV without the column": (
        b"id,question,story\n1,Who?,Ada came.\n",
        "header: no column 'context' (it has id, question, story); name the column",
    ),
    "a key with a line end": (b'{"a\\nb": 1}', "line 1: no column 'question' (it has a b)"),
}

# Files that are partly readable: `data check` lists the fault, all other commands reject the file.
PARTLY_READABLE: dict[str, tuple[bytes, str, str]] = {
    "truncated JSON, at the very end": (
        GOOD_SQUAD[:-1].encode(),
        f"line 1, column {len(GOOD_SQUAD)}",
        "expected ','",
    ),
    "truncated JSONL": ((ROW + ROW[:40]).encode(), "line 2, column 33", "Unterminated string"),
    "a ragged CSV row": (
        b"question,context,answer\nWho?,Ada came.,Ada\nWho?,Ada, came.,Ada\n",
        "line 3",
        "4 cells under 3 column names",
    ),
}


@pytest.fixture
def check_rejected(tmp_path: Path) -> Callable[[Any, str, str], None]:
    before = set(tmp_path.iterdir())

    def check(done: Any, source: str, message: str) -> None:
        assert done.code == 2
        (line,) = done.err.splitlines()  # exactly one
        assert line.startswith(f"readlet: {source}: {message}")
        assert "; " in line.removeprefix(f"readlet: {source}: ")  # a remedy follows
        assert done.out == ""
        left = {path.name for path in set(tmp_path.iterdir()) - before}
        assert left <= {Path(source).name}  # no output, not even a partial one

    return check


@pytest.mark.parametrize("case", CASES)
def test_bad_file(
    readlet: Run, tmp_path: Path, case: str, check_rejected: Callable[[Any, str, str], None]
) -> None:
    content, message = CASES[case]
    path, out = tmp_path / "given", tmp_path / "out.json"
    path.write_bytes(content)
    check_rejected(readlet("data", "check", path), str(path), message)
    check_rejected(readlet("data", "check", path, "--fix", out, "--json"), str(path), message)
    check_rejected(
        readlet("evaluate", "baseline", path, "--save-predictions", out), str(path), message
    )


@pytest.mark.parametrize("case", PARTLY_READABLE)
def test_partly_readable_file(
    readlet: Run, tmp_path: Path, case: str, check_rejected: Callable[[Any, str, str], None]
) -> None:
    content, place, fault = PARTLY_READABLE[case]
    path, out = tmp_path / "given", tmp_path / "out.json"
    path.write_bytes(content)
    done = readlet("evaluate", "baseline", path, "--save-predictions", out)
    check_rejected(done, str(path), f"{place}: {fault}")
    checked = readlet("data", "check", path, "--json")
    assert (checked.code, checked.err) == (1, "")
    (file,) = checked.json()["files"]
    assert file["questions"] == 1
    assert file["findings"][0]["id"] == place
    assert file["findings"][0]["detail"].startswith(fault)
    fixed = readlet("data", "check", path, "--fix", out, "--json")
    assert (fixed.code, fixed.json()["fixed"]["written"]) == (1, 1)
    assert list(fixed.json()["fixed"]["dropped"].values()) == [[place]]


@pytest.mark.parametrize("command", [["data", "check"], ["data", "show"], ["evaluate", "baseline"]])
def test_directory_and_missing_file(
    readlet: Run,
    tmp_path: Path,
    command: list[str],
    check_rejected: Callable[[Any, str, str], None],
) -> None:
    missing = tmp_path / "missing.json"
    check_rejected(readlet(*command, missing), str(missing), "no such file; check the path")
    check_rejected(
        readlet(*command, tmp_path), str(tmp_path), "is a directory; name a file inside it"
    )


def test_answer_that_is_not_in_the_context(
    readlet: Run, tmp_path: Path, check_rejected: Callable[[Any, str, str], None]
) -> None:
    """`evaluate` rejects misplaced answers; `data check` reports them, with exit code 1."""
    path, out = tmp_path / "off.json", tmp_path / "predictions.json"
    path.write_text(SQUAD.replace("START", "2"))
    done = readlet("evaluate", "baseline", path, "--save-predictions", out)
    check_rejected(
        done, str(path), "question 'q1': answer 'Ada' is not at 2 (nearest at 0); repair"
    )
    done = readlet("data", "check", path)
    assert (done.code, done.err) == (1, "")
    assert "'Ada' at 2, is at 0" in done.out


@pytest.mark.parametrize("command", [["evaluate", "baseline"], ["data", "unanswerable"]])
def test_answers_of_an_impossible_question(
    readlet: Run,
    tmp_path: Path,
    command: list[str],
    check_rejected: Callable[[Any, str, str], None],
) -> None:
    """A contradiction is rejected; `--fix` trusts the flag."""
    path, out = tmp_path / "both.json", tmp_path / "out.json"
    path.write_text(GOOD_SQUAD.replace('"answers"', '"is_impossible": true, "answers"'))
    words = ["--out", out] if command[0] == "data" else ["--save-predictions", out]
    message = "question 'q1': is marked impossible but has answers; repair it with `readlet data"
    check_rejected(readlet(*command, path, *words), str(path), message)
    assert readlet("data", "check", path).code == 1
    assert readlet("data", "check", path, "--fix", out).code == 0
    (repaired,) = read_examples(out)
    assert (repaired.answers, repaired.plausible_answers) == ((), (Span(0, "Ada"),))


def test_bad_column(readlet: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(ROW)
    for pair in ("colour=red", "context", "context="):
        done = readlet("data", "check", path, "--column", pair)
        assert done.code == 2
        (line,) = done.err.splitlines()
        assert line.startswith(f"readlet: --column {pair}: write FIELD=NAME")
    done = readlet("data", "check", path, "--column", "context=passage")
    assert done.code == 2
    assert "no column 'passage'" in done.err


@pytest.mark.parametrize("name", ["out.txt", "no/folder/out.json", ""])
def test_output_that_cannot_be_written(readlet: Run, tmp_path: Path, name: str) -> None:
    path = tmp_path / "good.json"
    path.write_text(GOOD_SQUAD)
    done = readlet("data", "check", path, "--fix", tmp_path / name)
    assert done.code == 2
    assert len(done.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("case", ["truncated JSON", "a gz that ends early", "an empty file"])
def test_bad_file_as_a_process(
    readlet_process: Run, tmp_path: Path, case: str, check_rejected: Callable[[Any, str, str], None]
) -> None:
    """Output of the interpreter at exit is only visible from another process."""
    content, message = CASES[case]
    path = tmp_path / "given"
    path.write_bytes(content)
    done = readlet_process("data", "check", path, "--fix", tmp_path / "out.json.gz")
    check_rejected(done, str(path), message)


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
    ("beginning", "filling", "message"),
    [
        ('\n{"context": "', "long ", "line 2: longer than 64 MiB; put one record on each line"),
        (
            '{"version": "2",\n "data": [{"title": "',
            "wide 🦉",
            "line 2, column 11: one value is longer than 64 MiB; split it into articles",
        ),
        (
            '{"data": [{"paragraphs": [{"context": "c", "qas": [',
            json.dumps({"id": "i", "question": "Why? " * 50, "answers": []}) + ",",
            "line 1, column 11: one value is longer than 64 MiB; split it into articles",
        ),
    ],
    ids=["a line of JSONL", "a text in an article", "an article of many questions"],
)
def test_200_megabytes_in_one_piece(
    readlet_process: Run,
    huge: Callable[[str, str], Path],
    beginning: str,
    filling: str,
    message: str,
    check_rejected: Callable[[Any, str, str], None],
) -> None:
    path = huge(beginning, filling)

    def limit_memory() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

    done = readlet_process("data", "check", path, preexec_fn=limit_memory, timeout=30)
    check_rejected(done, str(path), message)


@pytest.mark.parametrize(
    "words",
    [
        ("evaluate", "baseline", "DATA", "--save-predictions", "DATA"),
        ("evaluate", "baseline", "DATA", "--against", "OTHER", "--save-predictions", "OTHER"),
        ("data", "check", "DATA", "--fix", "DATA"),
        ("data", "check", "DATA", "--fix", "LINK"),
        ("data", "unanswerable", "DATA", "--out", "DATA"),
    ],
)
def test_no_command_writes_over_its_input(
    readlet: Callable[..., Any], tmp_path: Path, words: tuple[str, ...]
) -> None:
    files = {
        "DATA": tmp_path / "d.jsonl",
        "OTHER": tmp_path / "o.json",
        "LINK": tmp_path / "l.jsonl",
    }
    row = {"id": "1", "question": "Who?", "context": "Ada lit it.", "answers": [], "title": "A"}
    files["DATA"].write_text(json.dumps(row) + "\n")
    files["OTHER"].write_text(json.dumps({"1": ""}))
    files["LINK"].symlink_to(files["DATA"])
    before = {name: path.read_bytes() for name, path in files.items()}
    done = readlet(*(files.get(word, word) for word in words))
    assert done.code == 2
    assert "is also an input; give another file" in done.err
    assert {name: path.read_bytes() for name, path in files.items()} == before
