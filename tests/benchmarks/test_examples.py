"""The examples run."""

import importlib
import runpy
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


@pytest.mark.parametrize("words", [("--heads", "5"), ("--seeds", "0")])
def test_vision_reports_invalid_options(
    words: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["vision.py", *words])
    with pytest.raises(SystemExit) as ending:
        runpy.run_path(str(EXAMPLES / "vision.py"), run_name="__main__")
    assert ending.value.code == 2
    fault = capsys.readouterr().err.splitlines()[-1]
    assert f"argument {words[0]}: {words[1]}: give a number" in fault
