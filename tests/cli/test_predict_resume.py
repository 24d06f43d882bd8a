"""`readlet predict` after SIGKILL: the same command gives the same bytes as without."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from readlet.inference.reader import Reader
from readlet.storage.partial_lines import PartialLines

Run = Callable[..., Any]

LAMP = "The lamp at Cape Wick was lit by Ada Brook in 1881. Fishermen paid for its oil. "
CHUNK = 8
# Small chunks and a pause for each question, so that the command can be killed inside.
SLOWLY = f"""
import time
import readlet.inference.reader, readlet.inference.predict_file
readlet.inference.reader.CHUNK = readlet.inference.predict_file.CHUNK = {CHUNK}
from readlet.storage.partial_lines import PartialLines
append = PartialLines.append
PartialLines.append = lambda self, record: (time.sleep(0.02), append(self, record))[1]
"""


@pytest.fixture
def reader(tmp_path: Path, random_reader: Callable[..., Reader]) -> Path:
    random_reader(LAMP, null=True).save(tmp_path / "reader")
    return tmp_path / "reader"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Questions of different lengths, so that chunks decide how they are batched."""
    path = tmp_path / "data.jsonl"
    pieces = LAMP.split()
    rows = [
        {
            "id": f"q{number % 37}",  # some ids repeat
            "question": f"{pieces[number % 15]} {pieces[number * 7 % 15]} {number}?",
            "context": LAMP * (1 + number * 5 % 3) + " ".join(pieces[: number % 11]),
        }
        for number in range(5 * CHUNK + 3)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("readlet.inference.predict_file.CHUNK", CHUNK)
    monkeypatch.setattr("readlet.inference.reader.CHUNK", CHUNK)


def kill_after(lines: int, path: Path, forked: Any, *words: object) -> None:
    """Run the command and kill it when its unfinished output has so many lines."""
    with forked.forked_readlet("predict", *words, first=SLOWLY) as process:
        end = time.monotonic() + 60
        while not path.exists() or path.read_bytes().count(b"\n") < lines:
            assert process.exitcode is None
            assert time.monotonic() < end
            time.sleep(0.005)
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL


def test_killed_twice_and_resumed_gives_the_same_bytes(
    readlet: Run, forked: Any, tmp_path: Path, reader: Path, data: Path
) -> None:
    whole, out = tmp_path / "whole.csv", tmp_path / "killed.csv"
    na_whole, na_out = tmp_path / "na-whole.json", tmp_path / "na.json"
    done = readlet("predict", reader, data, "--out", whole, "--na-probs", na_whole)
    assert done.code == 0, done.err
    assert done.out
    words = (reader, data, "--out", out, "--na-probs", na_out)
    partial = tmp_path / f"{out.name}.partial"
    kill_after(1 + CHUNK, partial, forked, *words)
    kill_after(1 + 3 * CHUNK, partial, forked, *words)
    assert not out.exists()
    # As if the last line had been cut while it was written.
    partial.write_bytes(partial.read_bytes()[:-5])
    done = readlet("predict", *words)
    assert done.code == 0, done.err
    assert f"readlet: {partial}: continues after {2 * CHUNK} of 43 questions\n" in done.err
    assert out.read_bytes() == whole.read_bytes()
    assert na_out.read_bytes() == na_whole.read_bytes()
    assert not partial.exists()


def test_another_reader_data_or_option_is_not_mixed_in(
    readlet: Run, tmp_path: Path, reader: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, partial = tmp_path / "p.csv", tmp_path / "p.csv.partial"
    append, left = PartialLines.append, iter(range(1 + CHUNK))

    def interrupted(self: PartialLines, record: Any) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        append(self, record)

    with monkeypatch.context() as patch:
        patch.setattr(PartialLines, "append", interrupted)
        assert readlet("predict", reader, data, "--out", out).code == 130
    before = partial.read_bytes()

    def fault(*words: object) -> str:
        done = readlet("predict", *words, "--out", out)
        assert (done.code, done.out) == (2, "")
        assert partial.read_bytes() == before
        line: str = done.err.splitlines()[-1]
        assert line.endswith("; remove it, or give another output")
        return line

    assert "with another threshold;" in fault(reader, data, "--threshold", 0.7)
    assert "with another n_best;" in fault(reader, data, "--n-best", 3)
    assert "with another reader, " in fault("baseline", data)
    changed = reader / "calibration.json"
    original = changed.read_text()
    changed.write_text(json.dumps(json.loads(original) | {"temperature": 2.0}))
    assert "with another reader;" in fault(reader, data)
    changed.write_text(original)
    data.write_text(data.read_text().replace("1881", "1882", 1))
    assert "with another data;" in fault(reader, data)


def test_a_finished_part_is_not_predicted_again(
    readlet: Run, tmp_path: Path, reader: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after the last prediction, before the output was written."""
    out = tmp_path / "p.csv"

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("readlet.inference.predict_file.write_records", crash)
        assert readlet("predict", reader, data, "--out", out).code == 130
    monkeypatch.setattr(Reader, "answer_batch", lambda self, pairs, *_, **__: iter(list(pairs)))
    done = readlet("predict", reader, data, "--out", out)
    assert done.code == 0
    assert "continues after 43 of 43 questions" in done.err
    assert len(out.read_text().splitlines()) == 44


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """40 MB of questions in far less than 40 MB."""
    data, out = tmp_path / "data.jsonl", tmp_path / "p.jsonl"
    with data.open("w") as stream:
        for number in range(4000):
            row = {"question": f"Who lit lamp {number}?", "context": f"{number} " + LAMP * 125}
            stream.write(json.dumps(row) + "\n")
    assert data.stat().st_size > 38_000_000
    program = (
        "import resource, sys; from readlet.inference.baseline import LexicalBaseline\n"
        "from readlet.types import Prediction\n"
        "def answers(self, pairs, *_, **__):\n"
        "    for _ in pairs: yield Prediction.choose((), 1.0, 0.0)\n"
        "LexicalBaseline.answer_batch = answers\n"
        "from pathlib import Path; from readlet.inference.predict_file import predict_file\n"
        "predict_file('baseline', 'bundled:test', Path(sys.argv[2] + '.first.jsonl'))\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "predict_file('baseline', sys.argv[1], Path(sys.argv[2]))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    words = [sys.executable, "-c", program, str(data), str(out)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 12_000  # kB; chunks of text are 1 MiB
    assert len(out.read_text().splitlines()) == 4000
