"""The command as a whole, and the demonstration."""

from collections.abc import Callable
from typing import Any

import readlet as package

Run = Callable[..., Any]


def test_demo(readlet_process: Run) -> None:
    done = readlet_process("demo")
    assert (done.code, done.err) == (0, "")
    told = done.out
    assert "Nothing wrong." in told
    assert "with answer" in told
    assert told.count("gold: ") == 3
    assert told.index("1. Is the data sound?") < told.index("2. How far") < told.index("3. Ask it")


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
