"""The examples run."""

import importlib
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_vision(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setattr(sys, "argv", ["vision.py", "--quick"])
    script = importlib.import_module("vision")
    digits = script.digits
    monkeypatch.setattr(script, "digits", lambda seed: [part[:192] for part in digits(seed)])
    script.main()
    lines = [line.split("|") for line in capsys.readouterr().out.splitlines()[2:]]
    assert [line[2].strip() for line in lines] == [
        *("standard", "norm loss", "norm attention", "norm attention + norm loss"),
        *("standard", "norm loss"),
    ]
    assert all(0 <= float(cell) <= 100 for line in lines for cell in line[3:-1])
