"""The command as a whole, and the demonstration."""

import re
from collections.abc import Callable
from typing import Any

import readlet as package

Run = Callable[..., Any]


def test_demo(readlet_process: Run) -> None:
    done = readlet_process("demo")
    assert done.code == 0, done.err
    assert "examples/s" in done.err  # training shows how far it is
    told = done.out
    assert "Nothing wrong." in told
    assert "with answer" in told
    assert told.count("gold: ") == 6
    assert told.index("1. Is the data sound?") < told.index("2. How far") < told.index("3. Does")
    # By heart: nearly all of its training questions, and a chosen one of them.
    learnt = re.search(r"train: EM ([\d.]+)", told)
    assert learnt is not None
    assert float(learnt[1]) > 90
    assert "A Ferdinand de Lesseps" in told


def test_version_and_help(readlet: Run) -> None:
    assert readlet("--version").out.strip() == package.__version__
    for words in ([], ["data"], ["ask"], ["evaluate"], ["demo"], ["data", "check"]):
        done = readlet(*words, "--help")
        assert done.code == 0
        assert "Usage" in done.out


def test_unknown_command(readlet: Run) -> None:
    done = readlet("bake")
    assert done.code == 2
    assert "bake" in done.err
