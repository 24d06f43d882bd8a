"""The examples run."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def vision(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(EXAMPLES / "vision.py"), *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_vision() -> None:
    done = vision("--quick")
    assert done.returncode == 0, done.stderr
    lines = [line.split("|") for line in done.stdout.splitlines()[2:]]
    assert [line[2].strip() for line in lines] == [
        *("standard", "norm loss", "norm attention", "norm attention + norm loss"),
        *("standard", "norm loss"),
    ]
    assert all(0 <= float(cell) <= 100 for line in lines for cell in line[3:-1])


@pytest.mark.parametrize("words", [("--heads", "5"), ("--seeds", "0")])
def test_vision_reports_invalid_options(words: tuple[str, str]) -> None:
    done = vision(*words)
    assert done.returncode == 2
    assert f"argument {words[0]}: {words[1]}: give a number" in done.stderr.splitlines()[-1]
