"""The examples run."""

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_vision() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "vision.py"), "--quick"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split("|") for line in done.stdout.splitlines()[2:]]
    assert [line[2].strip() for line in lines] == [
        *("standard", "norm loss", "norm attention", "norm attention + norm loss"),
        *("standard", "norm loss"),
    ]
    assert all(0 <= float(cell) <= 100 for line in lines for cell in line[3:-1])
