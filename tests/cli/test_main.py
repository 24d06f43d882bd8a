"""The command as a whole, and the demo."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import readlet as package

Run = Callable[..., Any]


def test_demo(readlet: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the scores of the bundled reader: the next test has those of a smaller one."""
    monkeypatch.setattr("readlet.cli.demo._score_bundled", lambda: None)
    done = readlet("demo")
    assert done.code == 0, done.err
    assert "examples/s" in done.err  # training reports its progress
    shown = done.out
    assert "No problems found." in shown
    assert shown.count("gold: ") == 9
    # Memorised: nearly all training questions, including a chosen one.
    memorised = re.search(r"train: EM ([\d.]+)", shown)
    assert memorised is not None
    assert float(memorised[1]) > 90
    assert "A Ferdinand de Lesseps" in shown


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
    for words in ([], ["data"], ["ask"]):
        assert readlet(*words, "--help").code == 0


def test_unknown_command(readlet: Run) -> None:
    done = readlet("bake")
    assert done.code == 2
    assert "bake" in done.err
